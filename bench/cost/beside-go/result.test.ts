import { describe, expect, it } from 'vitest';
import type { Round } from '../measure-side.ts';
import { goTable } from './go-table.ts';
import type { MeasuredRow, Turns } from './measure-group.ts';
import { type GoResult, goVerdict, resultOf } from './result.ts';
import { GO_GROUPS, GO_ROWS, type GoRow } from './rows.ts';
import type { SideName } from './sides.ts';

interface Turn {
  readonly cost: number;
  readonly failed?: number;
  readonly p50Ms?: number;
}

const SECONDS = 2;
const COMPLETED = 400;

function turns(sides: Readonly<Partial<Record<SideName, Turn>>>): Turns {
  return new Map(
    Object.entries(sides).map(([name, { cost, failed = 0, p50Ms }]) => {
      const figures = {
        cost,
        userCost: 0.75 * cost,
        systemCost: 0.25 * cost,
        residentMb: 100,
        ...(p50Ms !== undefined && { p50Ms, p99Ms: 2 * p50Ms }),
      };
      const round: Round = {
        figures,
        completed: COMPLETED,
        failed,
        pieces: 0,
        scrapes: 320,
        seconds: SECONDS,
      };
      return [name as SideName, [round, round]];
    }),
  );
}

function rowNamed(id: string): GoRow {
  const row = GO_ROWS.find((each) => each.id === id);
  if (row === undefined) throw new Error(`there is no row ${id}`);
  return row;
}

const measured = (id: string, ...pairs: readonly Turns[]): GoResult => {
  const row: MeasuredRow = { row: rowNamed(id), pairs };
  return resultOf(row);
};

const GO = { cost: 1, p50Ms: 3 };
const NONE = { cost: 1, p50Ms: 1 };
const good = measured(
  '8-1k-200',
  turns({
    go: GO,
    'reference-default': { cost: 0.6, p50Ms: 2 },
    default: { cost: 0.8, p50Ms: 2.5 },
    none: NONE,
  }),
);

describe('rows beside the Go picker', () => {
  it('[D575] a row at 200 a second holds where each of our configurations takes 0.8 of its CPU', () => {
    expect(goVerdict(good)).toEqual({ holds: true, text: 'yes' });
    const missed = measured(
      '8-1k-200',
      turns({ go: GO, 'reference-default': { cost: 0.6 }, default: { cost: 0.81 } }),
    );
    expect(goVerdict(missed)).toEqual({ holds: false, text: 'no: default 0.81' });
  });

  it('[D575] a side without a figure does not hold, and a saturated row asks for nothing', () => {
    const absent = measured('8-1k-200', turns({ go: GO, default: { cost: 0.5 } }));
    expect(goVerdict(absent)).toEqual({
      holds: false,
      text: 'no: reference-default without a figure',
    });
    const saturated = measured(
      '8-1k',
      turns({ go: GO, 'reference-default': { cost: 2 }, default: { cost: 2 } }),
    );
    expect(goVerdict(saturated)).toEqual({ holds: true, text: '' });
  });

  it('[D575] a row in which requests fail does not hold, whichever picker fails them', () => {
    const failing = measured(
      '8-1k',
      turns({
        go: { cost: 1, failed: 4 },
        'reference-default': { cost: 0.5 },
        default: { cost: 0.5 },
      }),
    );
    expect(goVerdict(failing)).toEqual({ holds: false, text: 'requests failed: 1.0 % of go’s' });
  });

  it('[D573] the table has a line for each picker, with its ratio and what it adds', () => {
    const text = goTable([good], 'epp v1');
    const lines = text.split('\n').map((line) => line.replace(/ {2,}/g, ' | ').trim());
    expect(lines).toContain(
      '8 endpoints, 1 KB, 200 a second | Go picker | 200 | 160 | 1.00 | 0.75 | 0.25 | – | 2.00 / 4.00 | 100',
    );
    expect(lines).toContain(
      '| default | 200 | 160 | 0.80 | 0.60 | 0.20 | 0.80 (0.80–0.80) | 1.50 / 3.00 | 100',
    );
    expect(text).toMatch(/8 endpoints, 1 KB, 200 a second {2}CPU ≤ 0\.8 × Go +yes/);
  });

  it('[D573] a picker that does not keep up with the rate is marked', () => {
    const slow = { ...good, pickers: good.pickers.map((each) => ({ ...each, perSecond: 150 })) };
    expect(goTable([slow], 'epp v1')).toContain(' 150* ');
    expect(goTable([good], 'epp v1')).not.toContain('200*');
  });
});

describe('GO_ROWS', () => {
  it('[D575] ask for 0.8 of the CPU at 200 a second, of all prompts and pools', () => {
    const asked = GO_ROWS.filter(({ overGoMax }) => overGoMax !== undefined);
    expect(asked.map(({ id }) => id)).toEqual([
      '8-1k-200',
      '8-32k-200',
      '8-400k-200',
      '64-1k-200',
      '64-32k-200',
      '64-400k-200',
    ]);
    expect(new Set(asked.map(({ overGoMax }) => overGoMax))).toEqual(new Set([0.8]));
  });

  it('[D573] of a group share pool and prompts, as the same processes serve them', () => {
    for (const group of GO_GROUPS) {
      expect(new Set(group.map(({ endpoints }) => endpoints)).size).toBe(1);
      const sizes = group.map(({ load }) => ('bodyBytes' in load ? load.bodyBytes : undefined));
      expect(new Set(sizes).size).toBe(1);
    }
    expect(new Set(GO_ROWS.map(({ id }) => id)).size).toBe(GO_ROWS.length);
  });
});
