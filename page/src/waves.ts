// The timeline: what every wave of the recorded workgroup did, in the order of execution.

import { coloursOf, el, entry, tableBehind } from "./dom";
import type { Store } from "./store";
import type { Event, Race, Timeline } from "./timeline";

const HEIGHT = 20;
const BAR = 14;
const LEFT = 34;
const WIDEST = 16000;
const COLOURS: Readonly<Record<string, string>> = {
  barrier: "ink",
  wait: "off",
  load: "copy",
  store: "unsure",
  atomic: "unsure",
  matrix: "good",
  end: "line",
};
/** Later ones are drawn over earlier ones. */
const ORDER = ["end", "wait", "load", "store", "atomic", "matrix", "barrier"];

export function timelineView(store: Store): HTMLElement {
  const { timeline } = store;
  const panel = el("section", { class: "timeline panel", "aria-label": "timeline" });
  if (timeline === null) {
    panel.append(
      el("h2", {}, "Timeline"),
      el("p", {}, "The run is too long for a timeline: take a smaller size."),
    );
    return panel;
  }
  const races = timeline.races(store.model.data.findings);
  const canvas = el("canvas", {
    tabindex: 0,
    role: "img",
    "aria-label": `events of ${timeline.waves.length} waves; arrow keys move from event to event and between waves`,
  });
  let zoom = 1;
  const draw = (): void => paint(canvas, box, store, timeline, races, zoom);
  const box = el("div", { class: "scroll" }, canvas);
  const says = el("p", { class: "says", "aria-live": "polite" });
  const zooming = (by: number) => () => {
    zoom = Math.max(1, Math.min(zoom * by, 64));
    draw();
    const at = Number(canvas.dataset.cursor ?? 0);
    box.scrollLeft = at - box.clientWidth / 2;
  };
  canvas.addEventListener("click", (mouse) => {
    const place = canvas.getBoundingClientRect();
    const wave = timeline.waves[Math.floor((mouse.clientY - place.top) / HEIGHT)];
    const width = canvas.clientWidth - LEFT;
    const row = ((mouse.clientX - place.left - LEFT) / width) * timeline.data.rows;
    const event = wave === undefined ? undefined : timeline.nearest(wave, row);
    if (event !== undefined) go(store, timeline, event);
  });
  canvas.addEventListener("keydown", (key) => arrows(key, store, timeline));
  store.watch(() => {
    draw();
    says.replaceChildren(...describe(store, timeline));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("resize", draw);
  panel.append(
    el(
      "header",
      {},
      el("h2", {}, "Timeline"),
      el("button", { type: "button", onclick: zooming(2), "aria-label": "zoom in" }, "+"),
      el("button", { type: "button", onclick: zooming(0.5), "aria-label": "zoom out" }, "−"),
    ),
    says,
    box,
    ...races.map((race) => raceSays(store, timeline, race)),
    legend(timeline, store.model.data.judged),
    tableBehind("events of the wave as a table", ["row", "kind", "instruction", "at"], () =>
      timeline.of(store.state.wave).map(({ row, code }) => [String(row), code.kind, code.text, code.title]),
    ),
  );
  return panel;
}

/** Goes to an event, in the workgroup that was recorded. */
function go(store: Store, timeline: Timeline, event: Event): void {
  const group = store.model.groupNumber(timeline.data.group);
  if (group !== store.state.group) store.set({ group, wave: event.wave });
  store.at(event);
}

function arrows(key: KeyboardEvent, store: Store, timeline: Timeline): void {
  const { wave } = store.state;
  const row = store.row ?? 0;
  const own = timeline.of(wave);
  const beside = (by: number): Event | undefined => {
    const other = timeline.waves[timeline.waves.indexOf(wave) + by];
    return other === undefined ? undefined : timeline.nearest(other, row);
  };
  const moves: Readonly<Record<string, () => Event | undefined>> = {
    ArrowLeft: () => own.findLast((one) => one.row < row),
    ArrowRight: () => own.find((one) => one.row > row),
    ArrowUp: () => beside(-1),
    ArrowDown: () => beside(1),
  };
  const event = moves[key.key]?.();
  if (event === undefined) return;
  key.preventDefault();
  go(store, timeline, event);
}

function describe(store: Store, timeline: Timeline): (Node | string)[] {
  const row = store.row;
  if (row === null) {
    const group = `(${timeline.data.group.join(", ")})`;
    return [`Workgroup ${group} was recorded; choose an event to go there.`];
  }
  const event = timeline.at(row);
  return [
    el("b", {}, `wave ${store.state.wave}, row ${row} of ${timeline.data.rows}: `),
    el("code", {}, event?.code.text ?? ""),
    event?.code.place.line === undefined ? "" : ` at ${event.code.place.file}:${event.code.place.line}`,
    timeline.data.cut && el("span", { class: "bad-text" }, ` The run ends early: ${timeline.data.cut}`),
  ].filter((part) => part !== "");
}

function raceSays(store: Store, timeline: Timeline, race: Race): HTMLElement {
  const button = (event: Event) =>
    el(
      "button",
      { type: "button", class: "link", onclick: () => go(store, timeline, event) },
      `${event.code.title} (wave ${event.wave})`,
    );
  return el(
    "p",
    { class: "race" },
    el("span", { class: "bad-text" }, "✗ race: "),
    button(race.first),
    " and ",
    button(race.second),
    ", with no barrier between them",
  );
}

function legend(timeline: Timeline, judged: boolean): HTMLElement {
  const kinds = ["load", "store", "wait", "barrier", "matrix"];
  const there = new Set(timeline.events.map(({ code }) => code.kind));
  return el(
    "p",
    { class: "legend" },
    ...kinds.filter((kind) => there.has(kind)).map((kind) => entry(`swatch ${kind}`, kind)),
    judged && entry("swatch wrong", "matrix instruction with a wrong operand"),
    el("span", {}, "From left to right in the order in which the emulator executes: no cycles."),
  );
}

function paint(
  canvas: HTMLCanvasElement,
  box: HTMLElement,
  store: Store,
  timeline: Timeline,
  races: readonly Race[],
  zoom: number,
): void {
  const context = canvas.getContext("2d");
  const width = Math.min(WIDEST, Math.max(Math.floor(box.clientWidth * zoom), 200));
  const height = timeline.waves.length * HEIGHT;
  if (context === null) return;
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  canvas.style.width = `${width}px`;
  const colour = coloursOf(canvas);
  const x = (row: number): number => LEFT + (row / timeline.data.rows) * (width - LEFT - 4);
  const y = (wave: number): number => timeline.waves.indexOf(wave) * HEIGHT;
  const group = store.model.groupNumber(timeline.data.group);
  context.clearRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  for (const wave of timeline.waves) {
    const here = wave === store.state.wave && group === store.state.group;
    context.fillStyle = colour(here ? "off-bg" : "shade");
    context.fillRect(LEFT, y(wave) + 1, width - LEFT, HEIGHT - 2);
    context.fillStyle = colour(here ? "ink" : "soft");
    context.fillText(`w${wave}`, 6, y(wave) + 14);
  }
  const wrong = new Set(
    timeline.waves.flatMap((wave) =>
      store.model
        .steps(group, wave)
        .filter((step) => step.wrong)
        .map((step) => timeline.rowOf(wave, step.turn)),
    ),
  );
  const thick = Math.max(1.5, Math.min(8, (width / timeline.data.rows) * 0.8));
  for (const kind of ORDER) {
    for (const event of timeline.events) {
      if (event.code.kind !== kind) continue;
      context.fillStyle = colour(wrong.has(event.row) ? "bad" : (COLOURS[kind] ?? "line"));
      const [top, tall] =
        kind === "barrier" ? [0, HEIGHT] : kind === "wait" ? [9, 4] : [(HEIGHT - BAR) / 2, BAR];
      context.fillRect(x(event.row), y(event.wave) + top, kind === "barrier" ? 2 : thick, tall);
    }
  }
  for (const race of races) drawRace(context, race, x, y, colour("bad"));
  const row = store.row;
  if (row === null) return;
  canvas.dataset.cursor = String(Math.round(x(row)));
  context.fillStyle = colour("copy");
  context.fillRect(x(row) - 1, 0, 2, height);
  context.strokeStyle = colour("copy");
  context.lineWidth = 2;
  context.strokeRect(x(row) - 4, y(store.state.wave) + 1, 9, HEIGHT - 2);
}

function drawRace(
  context: CanvasRenderingContext2D,
  race: Race,
  x: (row: number) => number,
  y: (wave: number) => number,
  red: string,
): void {
  context.fillStyle = red;
  context.strokeStyle = red;
  context.lineWidth = 2;
  const ends = [race.first, race.second];
  context.globalAlpha = 0.22;
  for (const { wave } of ends) context.fillRect(x(race.from), y(wave), x(race.to) - x(race.from), HEIGHT);
  context.globalAlpha = 1;
  context.beginPath();
  context.moveTo(x(race.first.row), y(race.first.wave) + HEIGHT / 2);
  context.lineTo(x(race.second.row), y(race.second.wave) + HEIGHT / 2);
  context.stroke();
  for (const { row, wave } of ends) {
    context.beginPath();
    context.arc(x(row), y(wave) + HEIGHT / 2, 5, 0, 2 * Math.PI);
    context.fill();
  }
}
