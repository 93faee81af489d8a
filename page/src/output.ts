// The output: a map of its wrong elements, and how one of them came about.

import { coloursOf, el, entry, tableBehind } from "./dom";
import { elementView } from "./element";
import { heats, nextWrong, shown, type Values, valuesOf } from "./heat";
import type { State, Store } from "./store";

const WIDEST = 560;
const MOST_ROWS = 400;

export function outputView(store: Store): HTMLElement {
  const { output, noOutput } = store.model.data;
  const title = el("h2", {}, `Output ${output?.name ?? ""}`);
  const panel = el("section", { class: "output panel", "aria-label": "output" }, el("header", {}, title));
  if (output === null) {
    panel.append(el("p", {}, `Values are not shown: ${noOutput}`));
    return panel;
  }
  const values = valuesOf(output);
  const map = mapOf(store, output.name, values);
  const first = nextWrong(values, -1);
  if (first >= 0) store.set({ element: elementAt(values, first) });
  const share = `${values.count} of ${values.rows * values.cols} elements are wrong`;
  panel.append(
    el(
      "p",
      { class: "says" },
      values.count > 0
        ? el("span", { class: "bad-text" }, `✗ ${share}`)
        : el("span", { class: "good-text" }, "✓ every element is right"),
      " on small integers. Choose one to see what it was made of.",
    ),
    el("div", { class: "beside" }, map, elementView(store, output.name, values)),
    tableBehind(
      `wrong elements as a table${values.count > MOST_ROWS ? `, the first ${MOST_ROWS}` : ""}`,
      ["element", "held", "expected"],
      function* () {
        for (let at = nextWrong(values, -1), n = 0; at >= 0 && n < Math.min(values.count, MOST_ROWS); n++) {
          const name = `${output.name}[${Math.floor(at / values.cols)}][${at % values.cols}]`;
          const held = values.undefined[at] ? "undefined" : shown(values.observed[at]);
          yield [name, held, shown(values.expected[at])];
          at = nextWrong(values, at);
        }
      },
    ),
  );
  return panel;
}

function elementAt(values: Values, at: number): NonNullable<State["element"]> {
  const row = Math.floor(at / values.cols);
  return { row: row % values.rowsEach, col: at % values.cols, product: Math.floor(row / values.rowsEach) };
}

function mapOf(store: Store, name: string, values: Values): HTMLElement {
  const { rows, cols } = values;
  const pixels = Math.max(1, Math.floor(WIDEST / Math.max(rows, cols)));
  const canvas = el("canvas", {
    width: cols * pixels,
    height: rows * pixels,
    tabindex: 0,
    role: "img",
    "aria-label": `map of ${name}: ${values.count} wrong elements; arrow keys choose one`,
  });
  const choose = (row: number, col: number): void => {
    const [r, c] = [Math.max(0, Math.min(row, rows - 1)), Math.max(0, Math.min(col, cols - 1))];
    store.set({ element: elementAt(values, r * cols + c) });
  };
  const place = (): readonly [number, number] => {
    const at = store.state.element;
    return at === null ? [0, 0] : [at.product * values.rowsEach + at.row, at.col];
  };
  canvas.addEventListener("click", (event) => {
    const box = canvas.getBoundingClientRect();
    choose(
      Math.floor(((event.clientY - box.top) / box.height) * rows),
      Math.floor(((event.clientX - box.left) / box.width) * cols),
    );
  });
  canvas.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    choose(place()[0] + (by[0] ?? 0), place()[1] + (by[1] ?? 0));
  });
  const number = (label: string, most: number) =>
    el("input", { type: "number", min: 0, max: most, value: 0, "aria-label": label });
  const row = number(`row of ${name}`, rows - 1);
  const col = number(`column of ${name}`, cols - 1);
  for (const input of [row, col])
    input.addEventListener("change", () => choose(Number(row.value), Number(col.value)));
  const wrong = el(
    "button",
    {
      type: "button",
      disabled: values.count === 0,
      onclick: () => {
        const chosen = store.state.element === null ? -1 : place()[0] * cols + place()[1];
        const at = nextWrong(values, chosen);
        choose(Math.floor(at / cols), at % cols);
      },
    },
    "next wrong element",
  );
  const heat = heats(values);
  const draw = (): void => {
    paint(canvas, values, heat, pixels, store.state.element === null ? null : place());
    if (store.state.element !== null) [row.value, col.value] = place().map(String) as [string, string];
  };
  store.watch(draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  return el(
    "div",
    { class: "map" },
    canvas,
    el("div", { class: "choose" }, el("span", {}, name), "[", row, "][", col, "]", wrong),
    el(
      "p",
      { class: "legend" },
      entry("swatch right", "right"),
      entry("swatch hot", "off, the redder the further"),
      entry("swatch unsure", "undefined"),
    ),
  );
}

function paint(
  canvas: HTMLCanvasElement,
  values: Values,
  heat: Float32Array,
  pixels: number,
  chosen: readonly [number, number] | null,
): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const colour = coloursOf(canvas);
  context.fillStyle = colour("good-bg");
  context.fillRect(0, 0, canvas.width, canvas.height);
  const [red, unsure] = [colour("bad"), colour("unsure")];
  for (let at = 0; at < heat.length; at++) {
    if (!values.wrong[at]) continue;
    context.globalAlpha = values.undefined[at] ? 1 : (heat[at] ?? 0);
    context.fillStyle = values.undefined[at] ? unsure : red;
    context.fillRect((at % values.cols) * pixels, Math.floor(at / values.cols) * pixels, pixels, pixels);
  }
  context.globalAlpha = 1;
  if (chosen === null) return;
  const [y, x] = chosen.map((one) => one * pixels) as [number, number];
  context.strokeStyle = colour("ink");
  context.lineWidth = 2;
  context.strokeRect(x - 2, y - 2, pixels + 4, pixels + 4);
}
