// LDS at the moment: a row of banks for each stretch of bytes, in the colour of the instruction that stored there last.

import { ints, type LdsData } from "./data";
import { coloursOf, el, entry, tableBehind } from "./dom";
import type { Store } from "./store";
import { contentsOf, crowding, dwordsOf, lanesAt, NEVER, type Timeline, writersOf } from "./timeline";

const MOST_ROWS = 400;
/** Red is for what is wrong. */
const FIRST_HUE = 0.55;

/** Accesses of LDS, and their `held`. */
interface Memory {
  readonly lds: LdsData;
  readonly held: Int32Array;
}

export function ldsView(store: Store): HTMLElement {
  const { timeline } = store;
  const lds = timeline?.data.lds ?? null;
  const panel = el("section", { class: "lds panel", "aria-label": "LDS" }, el("h2", {}, "LDS"));
  if (timeline === null || lds === null) {
    panel.append(el("p", {}, "No access of LDS was recorded."));
    return panel;
  }
  const memory = { lds, held: ints(lds.held) };
  const rows = Math.ceil(lds.size / 4 / lds.banks);
  const [wide, tall] = [Math.floor(640 / lds.banks), Math.max(2, Math.min(8, Math.floor(560 / rows)))];
  const canvas = el("canvas", {
    width: lds.banks * wide,
    height: rows * tall,
    tabindex: 0,
    role: "img",
    "aria-label": `LDS, ${rows} rows of ${lds.banks} banks; arrow keys choose a dword`,
  });
  const says = el("p", { class: "says", "aria-live": "polite" });
  const access = el("p", { class: "says" });
  const legend = el("p", { class: "legend" });
  const colours = storesOf(timeline, lds);
  let chosen = 0;
  let writers: Int32Array = new Int32Array();
  const choose = (dword: number): void => {
    chosen = Math.max(0, Math.min(dword, lds.size / 4 - 1));
    draw();
  };
  const draw = (): void => {
    const row = store.row;
    panel.hidden = row === null;
    if (row === null) return;
    writers = writersOf(lds, row);
    const at = accessAt(timeline, lds, store.state.wave, row);
    paint(canvas, { lds, writers, colours, timeline, wide, tall, chosen, access: at });
    says.replaceChildren(...describe(timeline, memory, writers, chosen));
    access.replaceChildren(...describeAccess(timeline, lds, at));
  };
  canvas.addEventListener("click", (event) => {
    const box = canvas.getBoundingClientRect();
    const bank = Math.floor(((event.clientX - box.left) / box.width) * lds.banks);
    choose(Math.floor(((event.clientY - box.top) / box.height) * rows) * lds.banks + bank);
  });
  canvas.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -lds.banks, ArrowDown: lds.banks }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    choose(chosen + by);
  });
  for (const [title, hue] of colours)
    legend.append(entry("swatch tint", title, { style: `--hue: ${hue}turn` }));
  legend.append(
    entry("swatch never", "nothing was stored"),
    entry("swatch access", "the wave's latest access"),
  );
  store.watch(draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  panel.append(
    access,
    says,
    el("div", { class: "scroll" }, canvas),
    legend,
    tableBehind("what lies where, as a table", ["bytes", "wave", "stored by", "first dword"], () =>
      ranges(timeline, memory, writers),
    ),
  );
  return panel;
}

/** Instructions that store to LDS, each with its colour. */
function storesOf(timeline: Timeline, lds: LdsData): Map<string, number> {
  const titles = new Set<string>();
  for (let at = 0; at < lds.row.length; at++)
    if (lds.store[at]) titles.add(timeline.at(lds.row[at] ?? -1)?.code.title ?? "");
  return new Map([...titles].map((title, at) => [title, (FIRST_HUE + at / titles.size) % 1]));
}

/** The wave's access of LDS at a row, or the last before it; -1: none. */
function accessAt(timeline: Timeline, lds: LdsData, wave: number, row: number): number {
  let found = -1;
  for (let at = 0; at < lds.row.length && (lds.row[at] ?? 0) <= row; at++)
    if (timeline.at(lds.row[at] ?? -1)?.wave === wave) found = at;
  return found;
}

function describe(
  timeline: Timeline,
  { lds, held }: Memory,
  writers: Int32Array,
  dword: number,
): (Node | string)[] {
  const place = el("b", {}, `byte ${4 * dword}, bank ${dword % lds.banks}: `);
  const at = writers[dword] ?? NEVER;
  const event = timeline.at(lds.row[at] ?? -1);
  if (at === NEVER || event === undefined) return [place, "nothing was stored there until now"];
  const holds = contentsOf(lds, held, at, dword);
  return [
    place,
    holds && el("b", {}, holds),
    `${holds && ", "}stored by wave ${event.wave}, lane ${lanesAt(lds, at, dword).join(" and ")}, with `,
    el("code", {}, event.code.title),
    `, row ${event.row}`,
  ];
}

function describeAccess(timeline: Timeline, lds: LdsData, at: number): (Node | string)[] {
  const event = timeline.at(lds.row[at] ?? -1);
  if (at < 0 || event === undefined) return ["The wave has not accessed LDS yet."];
  const { bank, dwords } = crowding(lds, at);
  const busy =
    dwords > 1
      ? `its lanes want up to ${dwords} dwords of one bank (${bank})`
      : "its lanes want no two dwords of one bank";
  return [`${lds.store[at] ? "Store" : "Load"} at hand: `, el("code", {}, event.code.title), `; ${busy}.`];
}

/** Stretches of bytes that one wave stored with one instruction. */
function* ranges(
  timeline: Timeline,
  { lds, held }: Memory,
  writers: Int32Array,
): Iterable<readonly string[]> {
  const name = (dword: number): string => {
    const event = timeline.at(lds.row[writers[dword] ?? NEVER] ?? -1);
    return event === undefined ? "" : `${event.wave}\n${event.code.title}`;
  };
  let [first, shown] = [0, 0];
  for (let dword = 1; dword <= writers.length && shown < MOST_ROWS; dword++) {
    if (dword < writers.length && name(dword) === name(first)) continue;
    const [wave = "", title = "nothing"] = name(first).split("\n");
    const holds = contentsOf(lds, held, writers[first] ?? NEVER, first);
    yield [`${4 * first} to ${4 * dword - 1}`, wave, title, holds];
    shown++;
    first = dword;
  }
}

interface Drawn {
  readonly lds: LdsData;
  readonly writers: Int32Array;
  readonly colours: ReadonlyMap<string, number>;
  readonly timeline: Timeline;
  readonly wide: number;
  readonly tall: number;
  readonly chosen: number;
  readonly access: number;
}

function paint(canvas: HTMLCanvasElement, drawn: Drawn): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const { lds, writers, colours, timeline, wide, tall } = drawn;
  const colour = coloursOf(canvas);
  const box = (dword: number): readonly [number, number, number, number] => [
    (dword % lds.banks) * wide,
    Math.floor(dword / lds.banks) * tall,
    wide - 1,
    tall - 1,
  ];
  context.clearRect(0, 0, canvas.width, canvas.height);
  for (let dword = 0; dword < writers.length; dword++) {
    const event = timeline.at(lds.row[writers[dword] ?? NEVER] ?? -1);
    const hue = event === undefined ? undefined : colours.get(event.code.title);
    const shade = colour(event && event.wave % 2 ? "tint-odd" : "tint-even");
    context.fillStyle =
      hue === undefined ? colour("off-bg") : `hsl(${hue * 360} ${colour("tint-strong")} ${shade})`;
    context.fillRect(...box(dword));
  }
  context.fillStyle = colour("copy");
  for (const dword of new Set(drawn.access < 0 ? [] : dwordsOf(lds, drawn.access)))
    context.fillRect(...box(dword));
  context.strokeStyle = colour("ink");
  context.lineWidth = 2;
  const [x, y, w, h] = box(drawn.chosen);
  context.strokeRect(x - 1, y - 1, w + 2, h + 2);
}
