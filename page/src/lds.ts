// LDS at the moment, a row of banks below each other: in the colour of the row of the matrix whose element lies there, or
// of the instruction that stored it.

import { ints, type LdsData } from "./data";
import { coloursOf, el, entry, tableBehind, toggle } from "./dom";
import type { Store } from "./store";
import {
  contentsOf,
  crowding,
  dwordsOf,
  type Image,
  imageOf,
  lanesAt,
  NEVER,
  type Timeline,
} from "./timeline";
import { RowTints, rowLegend, type Tint } from "./tints";

const MOST_ROWS = 400;
/** Red is for what is wrong. */
const FIRST_HUE = 0.55;

/** Accesses of LDS, and their `held`. */
interface Memory {
  readonly lds: LdsData;
  readonly held: Int32Array;
}

/** What colours stand for. */
interface Colouring {
  readonly title: string;
  readonly tint: (image: Image, dword: number) => Tint | null;
  readonly legend: readonly HTMLElement[];
}

export function ldsView(store: Store): HTMLElement {
  const { timeline } = store;
  const lds = timeline?.data.lds ?? null;
  const choices = el("div", { class: "choices", role: "group", "aria-label": "colours" });
  const panel = el(
    "section",
    { class: "lds panel", "aria-label": "LDS" },
    el("header", {}, el("h2", {}, "LDS"), choices),
  );
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
  const colourings = [...byRow(lds), byStore(timeline, lds)];
  let [colouring] = colourings;
  let chosen = 0;
  let image: Image = { writer: new Int32Array(), name: new Int32Array() };
  const choose = (dword: number): void => {
    chosen = Math.max(0, Math.min(dword, lds.size / 4 - 1));
    draw();
  };
  const draw = (): void => {
    const row = store.row;
    panel.hidden = row === null;
    if (row === null || colouring === undefined) return;
    image = imageOf(lds, memory.held, row);
    const at = accessAt(timeline, lds, store.state.wave, row);
    paint(canvas, { lds, image, tint: colouring.tint, wide, tall, chosen, access: at });
    says.replaceChildren(...describe(timeline, memory, image.writer, chosen));
    access.replaceChildren(...describeAccess(timeline, lds, at));
    choices.replaceChildren(...(colourings.length > 1 ? colourings.map(choice) : []));
    legend.replaceChildren(
      ...colouring.legend,
      entry("swatch never", "nothing was stored"),
      entry("swatch access", "the wave's latest access"),
    );
  };
  const choice = (one: Colouring): HTMLElement =>
    toggle(one.title, one === colouring, () => {
      colouring = one;
      draw();
      choices.querySelector<HTMLElement>("[aria-pressed='true']")?.focus();
    });
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
  store.watch(draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  panel.append(
    access,
    says,
    el("div", { class: "scroll" }, canvas),
    legend,
    tableBehind("what lies where, as a table", ["bytes", "wave", "stored by", "first dword"], () =>
      ranges(timeline, memory, image.writer),
    ),
  );
  return panel;
}

/** Rows of a matrix, each with its colour; nothing where no element is known. */
function byRow(lds: LdsData): Colouring[] {
  const tints = new RowTints(lds);
  const tint = (image: Image, dword: number): Tint | null => tints.of(image.name[dword] ?? NEVER);
  return lds.tensors.length > 0 ? [{ title: "by matrix row", tint, legend: rowLegend(lds, tints) }] : [];
}

/** Instructions that store to LDS, each with its colour; waves in two shades. */
function byStore(timeline: Timeline, lds: LdsData): Colouring {
  const titles = new Set<string>();
  for (let at = 0; at < lds.row.length; at++)
    if (lds.store[at]) titles.add(timeline.at(lds.row[at] ?? -1)?.code.title ?? "");
  const hues = new Map([...titles].map((title, at) => [title, (FIRST_HUE + at / titles.size) % 1]));
  const tint = (image: Image, dword: number): Tint | null => {
    const event = timeline.at(lds.row[image.writer[dword] ?? NEVER] ?? -1);
    const hue = hues.get(event?.code.title ?? "");
    return event === undefined || hue === undefined ? null : { hue, odd: event.wave % 2 !== 0 };
  };
  const legend = [...hues].map(([title, hue]) => entry("swatch tint", title, { style: `--hue: ${hue}turn` }));
  return { title: "by store", tint, legend };
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
  readonly image: Image;
  readonly tint: Colouring["tint"];
  readonly wide: number;
  readonly tall: number;
  readonly chosen: number;
  readonly access: number;
}

function paint(canvas: HTMLCanvasElement, drawn: Drawn): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const { lds, image, wide, tall } = drawn;
  const colour = coloursOf(canvas);
  const box = (dword: number): readonly [number, number, number, number] => [
    (dword % lds.banks) * wide,
    Math.floor(dword / lds.banks) * tall,
    wide - 1,
    tall - 1,
  ];
  context.clearRect(0, 0, canvas.width, canvas.height);
  for (let dword = 0; dword < image.writer.length; dword++) {
    const tint = drawn.tint(image, dword);
    const stored = (image.writer[dword] ?? NEVER) !== NEVER;
    context.fillStyle =
      tint === null
        ? colour(stored ? "line" : "off-bg")
        : `hsl(${tint.hue * 360} ${colour("tint-strong")} ${colour(tint.odd ? "tint-odd" : "tint-even")})`;
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
