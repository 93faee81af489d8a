// A recorded run as the views ask for it: events of a wave, races between two of them, stores to LDS.

import type { Code, Finding, LdsData, Place, TimelineData } from "./data";

export interface Event {
  readonly row: number;
  readonly wave: number;
  readonly code: Code;
}

/** Two accesses that nothing orders: both lie between the same barriers. */
export interface Race {
  readonly what: string;
  readonly first: Event;
  readonly second: Event;
  /** Rows between which they may change places. */
  readonly from: number;
  readonly to: number;
}

export class Timeline {
  readonly events: readonly Event[];
  readonly waves: readonly number[];
  private readonly byWave = new Map<number, Event[]>();
  private readonly byRow = new Map<number, Event>();
  private readonly ofMatrix = new Map<number, readonly Event[]>();

  constructor(
    readonly data: TimelineData,
    private readonly group: number,
  ) {
    this.events = data.row.flatMap((row, at) => {
      const code = data.code[data.inst[at] ?? -1];
      return code === undefined ? [] : [{ row, wave: data.wave[at] ?? 0, code }];
    });
    for (const event of this.events) {
      this.byRow.set(event.row, event);
      const list = this.byWave.get(event.wave);
      if (list === undefined) this.byWave.set(event.wave, [event]);
      else list.push(event);
    }
    this.waves = [...this.byWave.keys()].sort((x, y) => x - y);
  }

  /** The workgroup with that number on the page was recorded. */
  shows(group: number): boolean {
    return group === this.group;
  }

  of(wave: number): readonly Event[] {
    return this.byWave.get(wave) ?? [];
  }

  at(row: number): Event | undefined {
    return this.byRow.get(row);
  }

  private matrices(wave: number): readonly Event[] {
    const known = this.ofMatrix.get(wave) ?? this.of(wave).filter(({ code }) => code.kind === "matrix");
    this.ofMatrix.set(wave, known);
    return known;
  }

  /** Row of a wave's matrix instruction, these counted from 0. */
  rowOf(wave: number, turn: number): number | null {
    return this.matrices(wave)[turn]?.row ?? null;
  }

  /** How many matrix instructions a wave executed before the last one that began until a row. */
  turnAt(wave: number, row: number): number {
    return Math.max(this.matrices(wave).filter((event) => event.row <= row).length - 1, 0);
  }

  /** The event of a wave nearest to a row. */
  nearest(wave: number, row: number): Event | undefined {
    return this.of(wave).reduce<Event | undefined>(
      (best, one) => (best && Math.abs(best.row - row) <= Math.abs(one.row - row) ? best : one),
      undefined,
    );
  }

  /** Races that findings are about, each where it shows first. */
  races(findings: readonly Finding[]): Race[] {
    return findings.flatMap((finding) => {
      if (!finding.rule.startsWith("races/")) return [];
      const [one, ...others] = [finding.place, ...finding.related.map(({ place }) => place)];
      for (const other of others) {
        const race = one === undefined ? null : this.race(finding.what, one, other);
        if (race !== null) return [race];
      }
      return [];
    });
  }

  private race(what: string, one: Place, other: Place): Race | null {
    const group = (place: Place) =>
      place.workgroup?.every((id, axis) => id === this.data.group[axis]) ?? true;
    if (one.wave === undefined || other.wave === undefined || one.wave === other.wave) return null;
    if (!group(one) || !group(other)) return null;
    const mine = this.of(one.wave).filter(({ code }) => code.place.pc === one.pc);
    const theirs = this.of(other.wave).filter(({ code }) => code.place.pc === other.pc);
    for (const x of mine)
      for (const y of theirs) {
        const [a, b] = [this.interval(x), this.interval(y)];
        if (a.number !== b.number) continue;
        const [first, second] = x.row < y.row ? [x, y] : [y, x];
        return { what, first, second, from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) };
      }
    return null;
  }

  /** Between which of its barriers a wave executed an event. */
  private interval(event: Event): { number: number; from: number; to: number } {
    const barriers = this.of(event.wave).filter(({ code }) => code.kind === "barrier");
    const before = barriers.filter(({ row }) => row < event.row);
    const after = barriers[before.length];
    return { number: before.length, from: before.at(-1)?.row ?? 0, to: after?.row ?? this.data.rows };
  }
}

export const NEVER = -1;

/** For each dword of LDS, the access (by its place) that stored there last before a row; NEVER where none did. */
export function writersOf(lds: LdsData, before: number): Int32Array {
  const found = new Int32Array(lds.size / 4).fill(NEVER);
  for (let at = 0; at < lds.row.length; at++) {
    if ((lds.row[at] ?? 0) >= before) break;
    if (lds.store[at]) for (const dword of dwordsOf(lds, at)) found[dword] = at;
  }
  return found;
}

/** What a store put into a dword, lane by lane: element names; "" where the page does not know. `held`: see `LdsData`. */
export function contentsOf(lds: LdsData, held: Int32Array, at: number, dword: number): string {
  const first = lds.first[at] ?? NEVER;
  if (first === NEVER) return "";
  const pattern = lds.patterns[lds.pattern[at] ?? -1] ?? [];
  const found = lanesAt(lds, at, dword).map((lane) => {
    const part = dword - ((pattern[lane] ?? 0) >> 2);
    return lds.names[held[(first + part) * pattern.length + lane] ?? -1] ?? "";
  });
  return found.join("; ");
}

/** Lanes of an access that touch a dword. */
export function lanesAt(lds: LdsData, at: number, dword: number): number[] {
  const last = (first: number) => (first + (lds.bytes[at] ?? 4) - 1) >> 2;
  return (lds.patterns[lds.pattern[at] ?? -1] ?? []).flatMap((first, lane) =>
    first >= 0 && first >> 2 <= dword && dword <= last(first) ? [lane] : [],
  );
}

/** Dwords that an access touches, lane by lane. */
export function dwordsOf(lds: LdsData, at: number): number[] {
  const found: number[] = [];
  for (const first of lds.patterns[lds.pattern[at] ?? -1] ?? [])
    if (first >= 0) {
      const last = first + (lds.bytes[at] ?? 4) - 1;
      for (let dword = first >> 2; dword <= last >> 2; dword++) found.push(dword);
    }
  return found;
}

/** The most different dwords of one bank that an access touches, over all its lanes. */
export function crowding(lds: LdsData, at: number): { bank: number; dwords: number } {
  const banks = new Map<number, number>();
  for (const dword of new Set(dwordsOf(lds, at)))
    banks.set(dword % lds.banks, (banks.get(dword % lds.banks) ?? 0) + 1);
  const [bank, dwords] = [...banks].sort((x, y) => y[1] - x[1])[0] ?? [0, 0];
  return { bank, dwords };
}
