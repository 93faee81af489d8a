// A colour for each row of each matrix: where elements lie is seen before it is read.

import type { Contents } from "./data";
import { entry } from "./dom";

/** A colour: hue in turns, and which of the two shades. */
export interface Tint {
  readonly hue: number;
  readonly odd: boolean;
}

/** First and last row of each tensor. */
export function rowsOf({ tensors, lines }: Contents): (readonly [number, number])[] {
  return tensors.map((_, tensor) => {
    const rows = lines.filter(([of]) => of === tensor).map(([, row]) => row);
    return [
      rows.reduce((x, y) => Math.min(x, y), Number.POSITIVE_INFINITY),
      rows.reduce((x, y) => Math.max(x, y), 0),
    ];
  });
}

/** Tensors share the circle of hues, and each row has one of its tensor's; null for what is of none. */
export class RowTints {
  readonly spans: readonly (readonly [number, number])[];

  constructor(private readonly contents: Contents) {
    this.spans = rowsOf(contents);
  }

  hue(tensor: number, row: number): number {
    const [low, high] = this.spans[tensor] ?? [0, 0];
    return (tensor + (row - low) / (high - low + 1)) / this.spans.length;
  }

  /** Of a place in `names`. */
  of(name: number): Tint | null {
    const [tensor, row] = this.contents.lines[name] ?? [-1, -1];
    return tensor < 0 ? null : { hue: this.hue(tensor, row), odd: row % 2 !== 0 };
  }
}

/** What the colours of rows stand for. */
export function rowLegend({ tensors }: Contents, tints: RowTints): HTMLElement[] {
  return tints.spans.map(([low, high], tensor) => {
    const stops = Array.from({ length: 5 }, (_, at) => tints.hue(tensor, low + ((high - low) * at) / 4));
    const colours = stops.map((turn) => `hsl(${turn * 360} var(--tint-strong) var(--tint-even))`);
    const rows = high > low ? `rows ${low} to ${high}` : `row ${low}`;
    const style = `background: linear-gradient(90deg, ${colours.join(", ")})`;
    return entry("swatch rows", `${tensors[tensor] ?? ""}, ${rows}`, { style });
  });
}
