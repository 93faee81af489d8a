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

/** What lies in LDS, dword by dword: the access (by its place) that stored last, and what (a place in `names`); else NEVER. */
export interface Image {
  readonly writer: Int32Array;
  readonly name: Int32Array;
}

/** LDS before a row. `held`: see `LdsData`. */
export function imageOf(lds: LdsData, held: Int32Array, before: number): Image {
  const writer = new Int32Array(lds.size / 4).fill(NEVER);
  const name = writer.slice();
  for (let at = 0; at < lds.row.length; at++) {
    if ((lds.row[at] ?? 0) >= before) break;
    if (!lds.store[at]) continue;
    for (const { dword, lane, part } of touchesOf(lds, at)) {
      writer[dword] = at;
      name[dword] = nameOf(lds, held, at, lane, part);
    }
  }
  return { writer, name };
}

/** Place in `names` of what a store's lane put into a dword of its own; NEVER where the page does not know. */
function nameOf(lds: LdsData, held: Int32Array, at: number, lane: number, part: number): number {
  const first = lds.first[at] ?? NEVER;
  const lanes = lds.patterns[lds.pattern[at] ?? -1]?.length ?? 0;
  return first === NEVER ? NEVER : (held[(first + part) * lanes + lane] ?? NEVER);
}

/** What a store put into a dword, lane by lane: element names; "" where the page does not know. `held`: see `LdsData`. */
export function contentsOf(lds: LdsData, held: Int32Array, at: number, dword: number): string {
  if ((lds.first[at] ?? NEVER) === NEVER) return "";
  return touchesOf(lds, at)
    .filter((touch) => touch.dword === dword)
    .map(({ lane, part }) => lds.names[nameOf(lds, held, at, lane, part)] ?? "")
    .join("; ");
}

/** Lanes of an access that touch a dword. */
export function lanesAt(lds: LdsData, at: number, dword: number): number[] {
  return touchesOf(lds, at)
    .filter((touch) => touch.dword === dword)
    .map(({ lane }) => lane);
}

/** Dwords that an access touches, lane by lane; `part` counts those of a lane. */
function touchesOf(lds: LdsData, at: number): { dword: number; lane: number; part: number }[] {
  return (lds.patterns[lds.pattern[at] ?? -1] ?? []).flatMap((first, lane) => {
    if (first < 0) return [];
    const count = ((first + (lds.bytes[at] ?? 4) - 1) >> 2) - (first >> 2) + 1;
    return Array.from({ length: count }, (_, part) => ({ dword: (first >> 2) + part, lane, part }));
  });
}

/** Dwords that an access touches, lane by lane. */
export function dwordsOf(lds: LdsData, at: number): number[] {
  return touchesOf(lds, at).map(({ dword }) => dword);
}

/** The most different dwords of one bank that an access touches, over all its lanes. */
export function crowding(lds: LdsData, at: number): { bank: number; dwords: number } {
  const banks = new Map<number, number>();
  for (const dword of new Set(dwordsOf(lds, at)))
    banks.set(dword % lds.banks, (banks.get(dword % lds.banks) ?? 0) + 1);
  const [bank, dwords] = [...banks].sort((x, y) => y[1] - x[1])[0] ?? [0, 0];
  return { bank, dwords };
}
