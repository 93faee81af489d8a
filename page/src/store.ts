// What is looked at: one state, which every view draws again when it changes.

import type { Matrix } from "./data";
import type { Element, Model, Slot, Step } from "./model";
import { type Event, Timeline } from "./timeline";

export type Shown = "both" | "held" | "needed";

export interface State {
  readonly group: number;
  readonly wave: number;
  readonly step: number;
  /** Row of the recorded run; null: that of the step. */
  readonly row: number | null;
  readonly matrix: Matrix;
  readonly shown: Shown;
  readonly slot: Slot | null;
  readonly element: (Element & { readonly product: number }) | null;
  readonly line: { readonly file: string; readonly line: number } | null;
}

export class Store {
  private readonly views: (() => void)[] = [];
  private waiting = true;
  readonly timeline: Timeline | null;

  constructor(
    readonly model: Model,
    private now: State,
  ) {
    const { timeline } = model.data;
    this.timeline = timeline && new Timeline(timeline, model.groupNumber(timeline.group));
  }

  get state(): State {
    return this.now;
  }

  get steps(): readonly Step[] {
    return this.model.steps(this.now.group, this.now.wave);
  }

  get step(): Step | undefined {
    return this.steps[this.now.step];
  }

  /** Draws now and whenever something changes, from `start` on: drawings need to know their size and colours. */
  watch(draw: () => void): void {
    this.views.push(draw);
  }

  start(): void {
    this.waiting = false;
    for (const draw of this.views) draw();
  }

  set(change: Partial<State>): void {
    const next: { -readonly [name in keyof State]: State[name] } = { ...this.now, ...change };
    const steps = this.model.steps(next.group, next.wave);
    if (change.step !== undefined || change.wave !== undefined || change.group !== undefined)
      next.row = change.row ?? null;
    this.now = { ...next, step: Math.max(0, Math.min(next.step, steps.length - 1)) };
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      for (const draw of this.views) draw();
    });
  }

  /** The moment in the recorded run; null where its workgroup was not recorded. */
  get row(): number | null {
    const { timeline } = this;
    if (timeline === null || !timeline.shows(this.now.group)) return null;
    return this.now.row ?? timeline.rowOf(this.now.wave, this.step?.turn ?? 0);
  }

  /** Goes to an event of the recorded run; the operand shown is that of the last matrix instruction until then. */
  at(event: Event): void {
    const steps = this.model.steps(this.now.group, event.wave);
    const turn = this.timeline?.turnAt(event.wave, event.row) ?? 0;
    const step = steps.findLastIndex((one) => one.turn <= turn);
    this.set({ wave: event.wave, step: Math.max(step, 0), row: event.row, slot: null });
  }

  /** Goes to an execution; `more` is changed with it. */
  goto(step: Step, more: Partial<State> = {}): void {
    const at = this.model.steps(step.group, step.wave).indexOf(step);
    this.set({ group: step.group, wave: step.wave, step: Math.max(at, 0), ...more });
  }

  /** The next execution with a wrong operand, of this wave or of those that follow; around to the first. */
  nextWrong(): Step | undefined {
    const every = [...this.model.every].flat();
    const here = this.step === undefined ? -1 : every.indexOf(this.step);
    const around = [...every.slice(here + 1), ...every.slice(0, here + 1)];
    return around.find((step) => step.wrong);
  }
}

/** The first state: what the command asked for, else what is wrong first. */
export function firstState(model: Model): State {
  const { opened } = model.data;
  const every = [...model.every].flat();
  const group = opened.group === null ? -1 : model.groupNumber(opened.group);
  const fits = (step: Step): boolean =>
    (group < 0 || step.group === group) &&
    (opened.wave === null || step.wave === opened.wave) &&
    (opened.site === null || step.site === opened.site) &&
    (opened.iteration === null || step.iteration === opened.iteration);
  const wanted = every.filter(fits);
  const ofMatrix = wanted.find((step) => opened.matrix !== null && step.operands[opened.matrix]?.anyWrong);
  const step = ofMatrix ?? wanted.find((one) => one.wrong) ?? wanted[0] ?? every[0];
  const wrong = (["A", "B", "C"] as const).find((matrix) => step?.operands[matrix]?.anyWrong);
  const at = step === undefined ? 0 : model.steps(step.group, step.wave).indexOf(step);
  return {
    group: step?.group ?? 0,
    wave: step?.wave ?? 0,
    step: at,
    row: null,
    matrix: opened.matrix ?? wrong ?? "A",
    shown: "both",
    slot: null,
    element: null,
    line: null,
  };
}
