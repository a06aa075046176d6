import { expect, it } from 'vitest';
import { echoBody } from './echo-body.ts';
import type { StreamAction } from './stream-action.ts';

function piecesOf(body: readonly Uint8Array[]): readonly (readonly Uint8Array[])[] {
  const groups: (readonly Uint8Array[])[] = [];
  const emit = (action: StreamAction): void => {
    if ('pieces' in action) groups.push(action.pieces);
  };
  echoBody(emit, 'echo-response-body', body, true);
  return groups;
}

it('[P55] passes chunks on as they came, and views of those that a message cannot take', () => {
  const [small, other, large] = [Buffer.alloc(300, 1), Buffer.alloc(200, 2), Buffer.alloc(62_100)];
  const [first = [], second = []] = piecesOf([small, other, large]);
  expect(first[0]).toBe(small);
  expect(first[1]).toBe(other);
  expect(first.map(({ length }) => length)).toEqual([300, 200, 61_500]);
  expect(second.map(({ length }) => length)).toEqual([600]);
  expect(Buffer.concat([...first, ...second]).equals(Buffer.concat([small, other, large]))).toBe(
    true,
  );
  expect(piecesOf([])).toEqual([[]]);
  const exact = Buffer.alloc(62_000);
  expect(piecesOf([exact])).toEqual([[exact]]);
  expect(piecesOf([Buffer.alloc(62_001)]).map((pieces) => pieces[0]?.length)).toEqual([62_000, 1]);
});
