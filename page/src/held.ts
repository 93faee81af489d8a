// Operands of a matrix instruction by name, lane by register, where nothing says what they should hold.

import { type HeldData, ints } from "./data";
import { el, toggle } from "./dom";
import type { Store } from "./store";
import type { Event } from "./timeline";

const NO_ROW = [-1, -1] as const;

/** An operand of one execution: its letter, its registers, and where its words begin. */
interface Operand {
  readonly letter: string;
  readonly registers: readonly string[];
  readonly first: number;
}

export function heldView(store: Store): HTMLElement {
  const { held } = store.model.data;
  const title = el("h2", {}, "Operands");
  const letters = el("div", { class: "choices", role: "group", "aria-label": "operand" });
  const panel = el(
    "section",
    { class: "held panel", "aria-label": "operands" },
    el("header", {}, title, letters),
  );
  if (held === null) {
    panel.append(el("p", {}, "No matrix instruction was recorded."));
    return panel;
  }
  const words = ints(held.held);
  const byRow = operandsOf(held);
  const says = el("p", { class: "says", "aria-live": "polite" });
  const grid = el("div", { class: "scroll fragment names" });
  let letter = held.letters[0] ?? "";
  let chosen: number | null = null;
  const draw = (): void => {
    const event = matrixAt(store);
    const operands = byRow.get(event?.row ?? -1) ?? [];
    const operand = operands.find((one) => one.letter === letter) ?? operands[0];
    title.textContent = event === undefined ? "Operands" : `Operands of ${event.code.title}`;
    letters.replaceChildren(
      ...operands.map((one) =>
        toggle(one.letter, one === operand, () => {
          letter = one.letter;
          chosen = null;
          draw();
          letters.querySelector<HTMLElement>("[aria-pressed='true']")?.focus();
        }),
      ),
    );
    if (operand === undefined) {
      const more = `the page has no room for this one, and ${held.leftOut} are left out`;
      says.replaceChildren(held.leftOut > 0 ? `${more}: inspect --at shows it.` : "None until now.");
      grid.replaceChildren();
      return;
    }
    says.replaceChildren(...describe(operand));
    const table = tableOf(operand);
    const focused = grid.contains(document.activeElement);
    grid.replaceChildren(table);
    if (focused) table.querySelector<HTMLElement>("td[tabindex='0']")?.focus();
  };
  const nameOf = (operand: Operand, lane: number, register: number): number =>
    words[(operand.first + register) * held.lanes + lane] ?? -1;
  const describe = (operand: Operand): (Node | string)[] => {
    const { registers } = operand;
    if (chosen === null) return [`${registers[0]} to ${registers.at(-1)}, held beside nothing: ${held.why}.`];
    const [lane, register] = [Math.floor(chosen / registers.length), chosen % registers.length];
    const name = held.names[nameOf(operand, lane, register)] ?? "";
    return [el("b", {}, `lane ${lane}, ${registers[register] ?? ""}`), " holds ", el("code", {}, name)];
  };
  const tableOf = (operand: Operand): HTMLElement => {
    const { registers } = operand;
    const rows = rowsIn(operand);
    const heads = registers.map((name) => el("th", { scope: "col" }, name));
    const lines = Array.from({ length: held.lanes }, (_, lane) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, String(lane)),
        ...registers.map((_, register) => cellOf(operand, lane, register, rows)),
      ),
    );
    const choose = (cell: Element | null): void => {
      if (!(cell instanceof HTMLElement) || cell.dataset.slot === undefined) return;
      chosen = Number(cell.dataset.slot);
      draw();
    };
    const table = el(
      "table",
      {
        role: "grid",
        "aria-label": `operand ${operand.letter}, lanes by registers`,
        onclick: (event) => choose((event.target as HTMLElement).closest("td")),
        onkeydown: (event) => {
          const width = registers.length;
          const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -width, ArrowDown: width }[
            (event as KeyboardEvent).key
          ];
          if (by === undefined) return;
          event.preventDefault();
          choose(table.querySelector(`td[data-slot="${(chosen ?? 0) + by}"]`));
        },
      },
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "lane"), ...heads)),
      el("tbody", {}, ...lines),
    );
    return table;
  };
  /** Rows of matrices in an operand, each with its place among them. */
  const rowsIn = (operand: Operand): Map<string, number> => {
    const first = operand.first * held.lanes;
    const every = words.subarray(first, first + operand.registers.length * held.lanes);
    const found = [...new Set([...every].map((name) => held.lines[name] ?? NO_ROW))];
    const sorted = found.filter(([of]) => of >= 0).sort((x, y) => x[0] - y[0] || x[1] - y[1]);
    return new Map([...new Set(sorted.map(String))].map((key, at) => [key, at]));
  };
  const cellOf = (
    operand: Operand,
    lane: number,
    register: number,
    rows: ReadonlyMap<string, number>,
  ): HTMLElement => {
    const name = nameOf(operand, lane, register);
    const slot = lane * operand.registers.length + register;
    const row = rows.get(String(held.lines[name] ?? NO_ROW));
    const text = held.names[name] ?? "";
    const cell = el("td", {
      "data-slot": slot,
      tabindex: slot === (chosen ?? 0) ? 0 : -1,
      title: text,
      "aria-selected": String(slot === chosen),
    });
    cell.append(shortened(text));
    if (row !== undefined) {
      cell.style.setProperty("--hue", `${row / rows.size}turn`);
      cell.classList.add(row % 2 ? "odd" : "even");
    }
    if (slot === chosen) cell.classList.add("chosen");
    return cell;
  };
  store.watch(draw);
  panel.append(says, grid, el("p", { class: "legend" }, "One colour for each row of a matrix."));
  return panel;
}

/** Elements of one row or column in one: "A[0][3], A[1][3]" is "A[0/1][3]". */
export function shortened(name: string): string {
  const parts = name.split(", ").map((part) => part.split(/[[\]]+/).slice(0, -1));
  const [first = []] = parts;
  const alike = parts.every((part) => part.length === first.length && part[0] === first[0]);
  const axes = first.slice(1).map((_, axis) => [...new Set(parts.map((part) => part[axis + 1]))]);
  if (!alike || !/^\w+$/.test(first[0] ?? "") || axes.filter((values) => values.length > 1).length > 1)
    return name;
  return first[0] + axes.map((values) => `[${values.join("/")}]`).join("");
}

/** The wave's latest matrix instruction at the moment; else its first. */
function matrixAt(store: Store): Event | undefined {
  const every = store.timeline?.of(store.state.wave).filter(({ code }) => code.kind === "matrix") ?? [];
  const row = store.row ?? -1;
  return every.findLast((event) => event.row <= row) ?? every[0];
}

/** Operands by the row of their instruction. */
function operandsOf(held: HeldData): Map<number, Operand[]> {
  const found = new Map<number, Operand[]>();
  let first = 0;
  held.row.forEach((row, at) => {
    const [begin, count] = [held.register[at] ?? 0, held.count[at] ?? 0];
    const registers = Array.from({ length: count }, (_, n) => registerName(held, begin + n));
    const operand = { letter: held.letters[held.letter[at] ?? -1] ?? "", registers, first };
    found.set(row, [...(found.get(row) ?? []), operand]);
    first += count;
  });
  return found;
}

/** "v12", or "a3" where AccVGPRs begin before it. */
const registerName = ({ firstAcc }: HeldData, index: number): string =>
  firstAcc >= 0 && index >= firstAcc ? `a${index - firstAcc}` : `v${index}`;
