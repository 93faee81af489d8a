// The data as the views ask for it: steps of a wave, slots of an operand, the makers of an element of C.

import type { Column, Group, KernelData, Layout, Matrix, Moments, Site } from "./data";
import { MATRICES } from "./data";

export interface Element {
  readonly row: number;
  readonly col: number;
}

export interface Slot {
  readonly matrix: Matrix;
  readonly lane: number;
  readonly vgpr: number;
  readonly field: number;
}

const PLACES = new WeakMap<Layout, ReadonlyMap<string, number>>();

/** The first slot of every element of a layout, by row and column: many operands share a layout. */
function placesOf(layout: Layout): ReadonlyMap<string, number> {
  const known = PLACES.get(layout);
  if (known !== undefined) return known;
  const found = new Map<string, number>();
  layout.row.forEach((row, slot) => {
    const name = `${row},${layout.col[slot]}`;
    if (row >= 0 && !found.has(name)) found.set(name, slot);
  });
  PLACES.set(layout, found);
  return found;
}

/** One operand in one execution of a matrix instruction by one wave. */
export class Operand {
  constructor(
    private readonly moments: Moments,
    readonly at: number,
  ) {}

  private value(column: Column): number {
    return this.moments.rows[column][this.at] ?? 0;
  }

  private layout(column: "held" | "needed"): Layout {
    const found = this.moments.layouts[this.value(column)];
    if (found === undefined) throw new Error(`layout ${this.value(column)} is missing`);
    return found;
  }

  get matrix(): Matrix {
    return MATRICES[this.value("matrix")] ?? "A";
  }
  get site(): number {
    return this.value("site");
  }
  get iteration(): number {
    return this.value("iteration");
  }
  get group(): number {
    return this.value("group");
  }
  get wave(): number {
    return this.value("wave");
  }
  get product(): number {
    return this.value("product");
  }
  get axes(): Layout["axes"] {
    return this.layout("held").axes;
  }
  get bits(): number {
    return this.layout("held").bits;
  }
  get slots(): number {
    return this.layout("held").row.length;
  }

  private element(column: "held" | "needed", slot: number): Element | null {
    const layout = this.layout(column);
    const row = layout.row[slot] ?? -1;
    if (row < 0) return null;
    const from = [this.value(`${column}_row`), this.value(`${column}_col`)] as const;
    return { row: from[0] + row, col: from[1] + (layout.col[slot] ?? 0) };
  }

  /** What a slot holds; of C, where it is stored. Null: no element. */
  held(slot: number): Element | null {
    return this.element("held", slot);
  }
  /** What belongs there; null: nothing does. */
  needed(slot: number): Element | null {
    return this.element("needed", slot);
  }
  wrong(slot: number): boolean {
    return this.moments.masks[this.value("wrong")]?.charAt(slot) === "1";
  }
  live(slot: number): boolean {
    return this.moments.masks[this.value("live")]?.charAt(slot) === "1";
  }
  get anyWrong(): boolean {
    return this.moments.masks[this.value("wrong")]?.includes("1") ?? false;
  }
  /** Some slot holds an element where none belongs. */
  holdsTooMuch(): boolean {
    for (let slot = 0; this.anyWrong && slot < this.slots; slot++)
      if (this.wrong(slot) && this.needed(slot) === null && this.held(slot) !== null) return true;
    return false;
  }
  get countWrong(): number {
    return [...(this.moments.masks[this.value("wrong")] ?? "")].filter((bit) => bit === "1").length;
  }

  /** The first slot that holds an element; -1: none. */
  slotHolding(element: Element): number {
    const [row, col] = [element.row - this.value("held_row"), element.col - this.value("held_col")];
    return row < 0 || col < 0 ? -1 : (placesOf(this.layout("held")).get(`${row},${col}`) ?? -1);
  }

  /** Slot by its place in the layout. */
  slot(flat: number): Slot {
    const [, vgprs, fields] = this.axes;
    const register = Math.floor(flat / fields);
    return {
      matrix: this.matrix,
      lane: Math.floor(register / vgprs),
      vgpr: register % vgprs,
      field: flat % fields,
    };
  }
  flat(slot: Slot): number {
    const [, vgprs, fields] = this.axes;
    return (slot.lane * vgprs + slot.vgpr) * fields + slot.field;
  }
}

/** One execution of a matrix instruction by one wave. */
export interface Step {
  readonly group: number;
  readonly wave: number;
  readonly turn: number;
  readonly site: number;
  readonly iteration: number;
  readonly operands: Readonly<Partial<Record<Matrix, Operand>>>;
  readonly wrong: boolean;
}

/** A product of two elements that went into an element of C, beside what belongs there. */
export interface Contribution {
  readonly step: Step;
  readonly k: number;
  readonly a: Slot;
  readonly b: Slot;
  readonly heldA: Element | null;
  readonly heldB: Element | null;
  readonly right: boolean;
}

/** An accumulator's slot that is stored to an element of C. */
export interface Maker {
  readonly steps: readonly Step[];
  readonly slot: Slot;
  readonly belongs: Element | null;
}

const key = (group: number, wave: number): string => `${group}/${wave}`;

export class Model {
  private readonly byWave = new Map<string, Step[]>();
  private readonly registers = new Map<string, { kind: string; first: number; count: number }>();
  readonly waves: readonly (readonly number[])[];

  constructor(readonly data: KernelData) {
    const { rows, groups } = data.moments;
    const steps = new Map<string, Record<string, unknown> & { operands: Partial<Record<Matrix, Operand>> }>();
    for (let at = 0; at < rows.group.length; at++) {
      const name = `${rows.group[at]}/${rows.wave[at]}/${rows.turn[at]}`;
      const operand = new Operand(data.moments, at);
      const step = steps.get(name) ?? { operands: {}, turn: rows.turn[at] };
      step.operands[operand.matrix] = operand;
      steps.set(name, step);
    }
    for (const { operands, turn } of steps.values()) {
      const one = operands.A ?? operands.B ?? operands.C;
      if (one === undefined) continue;
      const { group, wave, site, iteration } = one;
      const wrong = MATRICES.some((matrix) => operands[matrix]?.anyWrong);
      const step: Step = { group, wave, site, iteration, turn: turn as number, operands, wrong };
      const list = this.byWave.get(key(group, wave));
      if (list === undefined) this.byWave.set(key(group, wave), [step]);
      else list.push(step);
    }
    for (const list of this.byWave.values()) list.sort((x, y) => x.turn - y.turn);
    this.waves = groups.map((_, group) => {
      const found = [...this.byWave.values()].flatMap((list) =>
        list[0]?.group === group ? [list[0].wave] : [],
      );
      return found.sort((x, y) => x - y);
    });
    for (const { site, matrix, kind, first, count } of data.moments.registers)
      this.registers.set(`${site}/${matrix}`, { kind, first, count });
  }

  /** Executions of a wave, in the order in which it came to them. */
  steps(group: number, wave: number): readonly Step[] {
    return this.byWave.get(key(group, wave)) ?? [];
  }

  get every(): Iterable<readonly Step[]> {
    return this.byWave.values();
  }

  site(number: number): Site | undefined {
    return this.data.sites[number];
  }

  /** Name of a register of an operand: "v72". */
  register(site: number, matrix: Matrix, vgpr: number, bits: number): string {
    const found = this.registers.get(`${site}/${matrix}`);
    const letter = found?.kind === "AccVGPR" ? "a" : "v";
    const first = (found?.first ?? 0) + vgpr * Math.max(1, bits / 32);
    return bits > 32 ? `${letter}[${first}:${first + 1}]` : `${letter}${first}`;
  }

  groupName(group: number): string {
    return `(${(this.data.moments.groups[group] ?? []).join(", ")})`;
  }

  groupNumber(group: Group | undefined): number {
    return this.data.moments.groups.findIndex((one) => group?.every((id, axis) => id === one[axis]) ?? false);
  }

  /** The slots that are stored to an element of C, one for each accumulator: instructions that add to one register
   * make one sum, and several registers make several. */
  makers(element: Element, product: number): Maker[] {
    const found = new Map<string, { steps: Step[]; slot: Slot; belongs: Element | null }>();
    for (const steps of this.byWave.values()) {
      for (const step of steps) {
        const c = step.operands.C;
        if (c === undefined || c.product !== product) continue;
        const flat = c.slotHolding(element);
        if (flat < 0) continue;
        const slot = c.slot(flat);
        const register = this.registers.get(`${step.site}/C`);
        const name = `${key(step.group, step.wave)}/${register?.kind}${register?.first}/${flat}`;
        const maker = found.get(name) ?? { steps: [], slot, belongs: c.needed(flat) };
        maker.steps.push(step);
        found.set(name, maker);
      }
    }
    return [...found.values()];
  }

  /** Its executions that add elements where there are no more k: each operand holds some that belong nowhere. */
  beyond(maker: Maker): Step[] {
    return maker.steps.filter(({ operands: { A, B } }) => [A, B].every((one) => one?.holdsTooMuch()));
  }

  /** The products that an accumulator's slot summed up, in the order of its wave. */
  contributions(maker: Maker, element: Element): Contribution[] {
    const target = maker.belongs ?? element;
    return maker.steps.flatMap((step) => {
      const { A, B } = step.operands;
      if (A === undefined || B === undefined) return [];
      const ofB = new Map(
        needing(B, (need) => need.col === target.col).map(([flat, need]) => [need.row, flat]),
      );
      return needing(A, (need) => need.row === target.row).flatMap(([a, need]) => {
        const b = ofB.get(need.col);
        if (b === undefined) return [];
        return {
          step,
          k: need.col,
          a: A.slot(a),
          b: B.slot(b),
          heldA: A.held(a),
          heldB: B.held(b),
          right: !A.wrong(a) && !B.wrong(b),
        };
      });
    });
  }
}

/** Live slots by what they need, one for each k. */
function needing(operand: Operand, wanted: (need: Element) => boolean): [number, Element][] {
  const found = new Map<number, [number, Element]>();
  for (let flat = 0; flat < operand.slots; flat++) {
    const need = operand.needed(flat);
    if (need === null || !operand.live(flat) || !wanted(need)) continue;
    const k = operand.matrix === "A" ? need.col : need.row;
    if (!found.has(k)) found.set(k, [flat, need]);
  }
  return [...found.values()].sort((x, y) => x[0] - y[0]);
}

export function fieldName(field: number, fields: number, bits: number): string {
  if (fields === 1) return "";
  if (fields === 2) return field === 0 ? "lo" : "hi";
  return `${(field + 1) * bits - 1}:${field * bits}`;
}

export function elementName(matrix: string, element: Element | null): string {
  return element === null ? "no element" : `${matrix}[${element.row}][${element.col}]`;
}
