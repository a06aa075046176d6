import { describe, expect, it } from 'vitest';
import { atMost, type Bound, ofEcho, ofRow } from './bounds.ts';
import { type Figures, summarizeAll } from './figures.ts';
import type { RowResult, SideResult } from './measure-row.ts';
import { type CostRow, GROUPS, USUAL } from './row.ts';
import { COST_ROWS } from './rows.ts';
import { askedOf, verdictOf } from './verdict.ts';

function side(figures: Figures, failedShare = 0): SideResult {
  return {
    figures: summarizeAll([figures]),
    rounds: [figures],
    perSecond: 100,
    scrapesPerSecond: 160,
    failedShare,
    chunksPerAnswer: 0,
  };
}

function row(id: string, asked: readonly Bound[], reference?: number): CostRow {
  const load = { kind: 'closed', connections: 1, bodyBytes: 1024 } as const;
  const known = reference === undefined ? {} : { reference };
  return { ...USUAL, ...known, id, group: 'cpu', title: id, load, asked };
}

describe('verdictOf', () => {
  const eight: RowResult = {
    row: row('8-1k', [ofEcho('cost', 1.7), atMost('residentMb', 110)], 0.25),
    ours: side({ cost: 0.1, residentMb: 120 }),
    other: side({ cost: 0.05 }),
  };
  const many: RowResult = {
    row: row('256-1k', [ofRow('cost', '8-1k', 1.5)]),
    ours: side({ cost: 0.14 }),
    other: undefined,
  };

  it('names each bound that is missed, with what was measured', () => {
    expect(verdictOf(eight, [eight])).toEqual({
      holds: false,
      text: 'no: CPU ≤ 1.7 × echo is 2, memory ≤ 110 MB is 120',
    });
  });

  it('compares with another row of the same run', () => {
    expect(verdictOf(many, [eight, many])).toEqual({ holds: true, text: 'yes' });
  });

  it('says what could not be measured', () => {
    expect(verdictOf(many, [many])).toEqual({
      holds: true,
      text: 'not measured: CPU ≤ 1.5 × 8-1k',
    });
  });

  it('trusts no figure of a row whose requests fail', () => {
    const failing = { ...many, ours: side({ cost: 0.1 }, 0.02) };
    expect(verdictOf(failing, [eight, failing]).text).toBe('2.0 % of the requests failed');
  });

  it('takes the reference picker’s figure for a bound', () => {
    expect(askedOf(eight.row)).toBe('CPU ≤ 1.7 × echo, memory ≤ 110 MB, CPU ≤ 0.25 ms');
  });
});

describe('COST_ROWS', () => {
  it('have names of their own, none of them a group’s', () => {
    const ids = COST_ROWS.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => (GROUPS as readonly string[]).includes(id))).toEqual(['start']);
  });

  it('compare only with rows that are measured before them', () => {
    for (const [index, { asked }] of COST_ROWS.entries()) {
      for (const { times } of asked) {
        if (typeof times !== 'object') continue;
        expect(COST_ROWS.slice(0, index).map(({ id }) => id)).toContain(times.row);
      }
    }
  });
});
