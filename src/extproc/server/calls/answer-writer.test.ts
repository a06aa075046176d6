import { describe, expect, it } from 'vitest';
import { type Answer, type AnswerStream, AnswerWriter } from './answer-writer.ts';

const ANSWER: Answer = { kind: 'answer-response-body' };

/** A stream whose answers leave when the test says so. */
function setUp() {
  const log: string[] = [];
  const sent: (() => void)[] = [];
  const later: (() => void)[] = [];
  const written: (() => void)[] = [];
  const stream = {
    cancelled: false,
    pause: () => void log.push('pause'),
    resume: () => void log.push('resume'),
    end: () => void log.push('end'),
    afterTurn: (task: () => void) => void later.push(task),
    afterWritten: (task: () => void) => void written.push(task),
    send: (answers: readonly Answer[], onSent: () => void) => {
      log.push(...answers.map(() => 'send'), 'write');
      sent.push(onSent);
    },
  };
  const typed: AnswerStream = stream;
  const writer = new AnswerWriter(typed);
  return {
    writer,
    stream,
    take: () => log.splice(0),
    write: () => {
      for (const task of written.splice(0)) task();
    },
    turn: () => {
      for (const task of later.splice(0)) task();
    },
    leave: () => {
      for (const task of later.splice(0)) task();
      for (const onSent of sent.splice(0)) onSent();
    },
  };
}

const sends = (log: readonly string[]): number => log.filter((each) => each === 'send').length;

/** An answer that is sent from a memory, and what has become of that. */
function remembered() {
  const fate: string[] = [];
  const memory = { free: () => void fate.push('freed'), leave: () => void fate.push('left') };
  const answer: Answer = { kind: 'answer-request-body', pick: undefined, memory };
  return { answer, fate };
}

describe('the answer writer', () => {
  it('[V211] frees the memory of an answer once that has left and was written', () => {
    const { writer, leave, write } = setUp();
    const { answer, fate } = remembered();
    writer.write(answer);
    write();
    leave();
    expect(fate).toEqual([]);
    write();
    writer.closed();
    expect(fate).toEqual(['freed']);
  });

  it('[V211] leaves the memory of answers that never left to the collector when their stream has closed', () => {
    const { writer, turn, write } = setUp();
    const sent = remembered();
    const waiting = remembered();
    for (let n = 0; n < 16; n++) writer.write(n === 0 ? sent.answer : ANSWER);
    writer.write(waiting.answer);
    turn();
    writer.abandon();
    write();
    expect([sent.fate, waiting.fate]).toEqual([[], []]);
    writer.closed();
    write();
    expect([sent.fate, waiting.fate]).toEqual([['left'], ['left']]);
  });

  it('writes the answers of one go together', () => {
    const { writer, take, leave } = setUp();
    writer.write(ANSWER);
    writer.write(ANSWER);
    leave();
    expect(take()).toEqual(['send', 'send', 'write']);
  });

  it('[P28] stops reading from a peer that takes no answers, holds them back, and reads on when all have left', () => {
    const { writer, take, turn, leave } = setUp();
    for (let n = 0; n < 40; n++) writer.write(ANSWER);
    turn();
    const first = take();
    expect(sends(first)).toBe(16);
    expect(first.filter((each) => each === 'pause')).toHaveLength(1);
    leave();
    turn();
    expect(sends(take())).toBe(16);
    leave();
    turn();
    const last = take();
    expect(sends(last)).toBe(8);
    expect(last).not.toContain('resume');
    leave();
    expect(take()).toContain('resume');
  });

  it('ends after the last answer, once, and takes none after it', () => {
    const { writer, take, turn, leave } = setUp();
    for (let n = 0; n < 20; n++) writer.write(ANSWER);
    turn();
    writer.end();
    writer.end();
    writer.write(ANSWER);
    expect(take()).not.toContain('end');
    leave();
    const log = take();
    expect(sends(log)).toBe(4);
    expect(log.at(-1)).toBe('end');
    leave();
    expect(take()).not.toContain('end');
  });

  it('writes nothing to a stream that was cancelled, and forgets what waits', () => {
    const { writer, stream, take, turn, leave } = setUp();
    for (let n = 0; n < 20; n++) writer.write(ANSWER);
    turn();
    stream.cancelled = true;
    take();
    leave();
    writer.write(ANSWER);
    expect(sends(take())).toBe(0);
  });
});
