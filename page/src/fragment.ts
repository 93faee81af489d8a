// An operand as a coloured map of lanes by VGPRs: what each slot holds beside what it needs.

import type { Matrix } from "./data";
import { MATRICES } from "./data";
import { el, toggle } from "./dom";
import { type Element, elementName, fieldName, type Operand, type Slot } from "./model";
import type { Shown, Store } from "./store";

const SHOWN: readonly [Shown, string][] = [
  ["both", "held beside needed"],
  ["held", "held"],
  ["needed", "needed"],
];

export function operandView(store: Store): HTMLElement {
  const matrices = el("div", { class: "choices", role: "group", "aria-label": "matrix" });
  const shown = el("div", { class: "choices", role: "group", "aria-label": "what is shown" });
  const grid = el("div", { class: "scroll fragment" });
  const title = el("h2", {});
  const says = el("p", { class: "says", "aria-live": "polite" });
  const legend = el("p", { class: "legend" });
  store.watch(() => {
    const { state } = store;
    matrices.replaceChildren(
      ...MATRICES.map((matrix) => {
        const button = toggle(matrix, matrix === state.matrix, () => store.set({ matrix, slot: null }));
        button.classList.toggle("bad", store.step?.operands[matrix]?.anyWrong ?? false);
        return button;
      }),
    );
    shown.replaceChildren(
      ...SHOWN.map(([how, text]) => toggle(text, how === state.shown, () => store.set({ shown: how }))),
    );
    const operand = store.step?.operands[state.matrix];
    title.textContent = `Operand ${state.matrix}`;
    if (operand === undefined) {
      grid.replaceChildren(el("p", {}, store.model.site(store.step?.site ?? -1)?.lost || "not followed"));
      return;
    }
    title.textContent += ` in ${registers(store, operand)}`;
    draw(store, operand, grid);
    says.replaceChildren(...slotSays(store, operand, state.slot));
    legend.replaceChildren(...legendOf(operand, state.matrix));
  });
  return el(
    "section",
    { class: "operand panel", "aria-label": "operand" },
    el("header", {}, title, matrices, shown),
    says,
    grid,
    legend,
  );
}

function registers(store: Store, operand: Operand): string {
  const last = operand.axes[1] - 1;
  const name = (vgpr: number) => store.model.register(operand.site, operand.matrix, vgpr, operand.bits);
  return last > 0 ? `${name(0)} to ${name(last)}` : name(0);
}

/** Elements of a row (of B: of a column) have one colour: so many there are, in this order. */
function linesOf(operand: Operand): Map<number, number> {
  const lines = new Set<number>();
  for (let flat = 0; flat < operand.slots; flat++)
    for (const element of [operand.held(flat), operand.needed(flat)])
      if (element !== null) lines.add(lineOf(operand.matrix, element));
  return new Map([...lines].sort((x, y) => x - y).map((line, at) => [line, at]));
}

const lineOf = (matrix: Matrix, element: Element): number => (matrix === "B" ? element.col : element.row);

function draw(store: Store, operand: Operand, box: HTMLElement): void {
  const { state } = store;
  const [lanes, vgprs, fields] = operand.axes;
  const lines = linesOf(operand);
  const chosen = state.slot?.matrix === operand.matrix ? operand.flat(state.slot) : -1;
  const same = chosen < 0 ? null : operand.held(chosen);
  const table = el("table", {
    role: "grid",
    "aria-label": `operand ${operand.matrix}, lanes by registers`,
    onkeydown: (event) => keys(store, operand, event as KeyboardEvent),
    onclick: (event) => {
      const cell = (event.target as HTMLElement).closest("td");
      if (cell?.dataset.slot !== undefined) store.set({ slot: operand.slot(Number(cell.dataset.slot)) });
    },
  });
  table.append(head(store, operand));
  const body = el("tbody");
  for (let lane = 0; lane < lanes; lane++) {
    const row = el("tr", {}, el("th", { scope: "row" }, String(lane)));
    for (let at = 0; at < vgprs * fields; at++) {
      const flat = lane * vgprs * fields + at;
      const cell = slotCell(operand, flat, state.shown, lines);
      cell.tabIndex = flat === Math.max(chosen, 0) ? 0 : -1;
      if (fields > 1 && at % fields === 0) cell.classList.add("first");
      const held = operand.held(flat);
      if (same !== null && held?.row === same.row && held.col === same.col) cell.classList.add("same");
      if (flat === chosen) cell.classList.add("chosen");
      cell.setAttribute("aria-selected", String(flat === chosen));
      row.append(cell);
    }
    body.append(row);
  }
  table.append(body);
  const focused = box.contains(document.activeElement);
  box.replaceChildren(table);
  if (focused) table.querySelector<HTMLElement>("td[tabindex='0']")?.focus({ preventScroll: false });
}

function head(store: Store, operand: Operand): HTMLElement {
  const [, vgprs, fields] = operand.axes;
  const names = Array.from({ length: vgprs }, (_, vgpr) =>
    el(
      "th",
      { scope: "colgroup", colspan: fields },
      store.model.register(operand.site, operand.matrix, vgpr, operand.bits),
    ),
  );
  const top = el("tr", {}, el("th", { scope: "col", rowspan: fields > 1 ? 2 : 1 }, "lane"), ...names);
  if (fields === 1) return el("thead", {}, top);
  const parts = names.flatMap(() =>
    Array.from({ length: fields }, (_, field) =>
      el("th", { scope: "col" }, fieldName(field, fields, operand.bits)),
    ),
  );
  return el("thead", {}, top, el("tr", {}, ...parts));
}

function slotCell(
  operand: Operand,
  flat: number,
  shown: Shown,
  lines: ReadonlyMap<number, number>,
): HTMLTableCellElement {
  const held = operand.held(flat);
  const needed = operand.needed(flat);
  const wrong = operand.wrong(flat);
  const first = shown === "needed" ? needed : held;
  const cell = el("td", { "data-slot": flat }, short(first));
  if (first !== null) {
    const line = lines.get(lineOf(operand.matrix, first)) ?? 0;
    cell.style.setProperty("--hue", `${line / Math.max(lines.size, 1)}turn`);
    cell.classList.add(line % 2 === 0 ? "even" : "odd");
  }
  if (wrong && shown !== "needed") {
    cell.classList.add("wrong");
    if (shown === "both") cell.append(el("small", {}, short(needed)));
  }
  if (!operand.live(flat)) cell.classList.add("dead");
  const parts = [`lane ${operand.slot(flat).lane}`, elementName(operand.matrix, held)];
  if (wrong) parts.push(`wrong, needs ${elementName(operand.matrix, needed)}`);
  if (!operand.live(flat)) parts.push("no output reads it");
  cell.title = parts.join(", ");
  cell.setAttribute("aria-label", parts.slice(1).join(", "));
  return cell;
}

const short = (element: Element | null): string => (element === null ? "·" : `${element.row},${element.col}`);

function keys(store: Store, operand: Operand, event: KeyboardEvent): void {
  const [lanes, vgprs, fields] = operand.axes;
  const width = vgprs * fields;
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -width, ArrowDown: width }[event.key];
  const cell = (event.target as HTMLElement).closest("td");
  if (by === undefined || cell?.dataset.slot === undefined) return;
  event.preventDefault();
  const next = Number(cell.dataset.slot) + by;
  if (next >= 0 && next < lanes * width) store.set({ slot: operand.slot(next) });
}

function slotSays(store: Store, operand: Operand, slot: Slot | null): (Node | string)[] {
  if (slot === null || slot.matrix !== operand.matrix)
    return [
      operand.anyWrong
        ? el("span", { class: "bad-text" }, `✗ ${operand.countWrong} of ${operand.slots} slots are wrong`)
        : el("span", { class: "good-text" }, "✓ every slot holds what is needed"),
      ". Choose a slot to see where else its element is.",
    ];
  const flat = operand.flat(slot);
  const { matrix } = operand;
  const part = fieldName(slot.field, operand.axes[2], operand.bits);
  const name = store.model.register(operand.site, matrix, slot.vgpr, operand.bits) + (part && `.${part}`);
  const held = operand.held(flat);
  const verb = matrix === "C" ? "is stored to" : "holds";
  const says: (Node | string)[] = [el("b", {}, `lane ${slot.lane}, ${name}`), ` ${verb} `];
  says.push(el("code", {}, elementName(matrix, held)));
  if (operand.wrong(flat))
    says.push(", needs ", el("code", { class: "good-text" }, elementName(matrix, operand.needed(flat))));
  if (!operand.live(flat)) says.push(" (no output reads it)");
  const copies = copiesOf(operand, flat);
  if (copies.length > 0) says.push(`; also in ${copies.join(", ")}`);
  const target = matrix === "C" ? (operand.needed(flat) ?? held) : null;
  if (target !== null) {
    const show = () => store.set({ element: { ...target, product: operand.product } });
    says.push(" ", el("button", { type: "button", onclick: show }, `its sum over k`));
  }
  return says;
}

/** Other lanes that hold the same element. */
function copiesOf(operand: Operand, flat: number): string[] {
  const held = operand.held(flat);
  if (held === null) return [];
  const found: string[] = [];
  for (let other = 0; other < operand.slots && found.length < 8; other++) {
    const there = operand.held(other);
    if (other !== flat && there?.row === held.row && there.col === held.col)
      found.push(`lane ${operand.slot(other).lane}`);
  }
  return found;
}

function legendOf(operand: Operand, matrix: Matrix): (Node | string)[] {
  const what = { A: "row of A", B: "column of B", C: "row of C" }[matrix];
  const marks: (Node | string)[] = [`One colour for each ${what}; 3,5 is ${matrix}[3][5]. `];
  if (operand.anyWrong)
    marks.push(el("span", { class: "key wrong" }, "3,5"), " wrong, and below what is needed. ");
  marks.push(el("span", { class: "key dead" }, "3,5"), " a copy that no output reads.");
  return marks;
}
