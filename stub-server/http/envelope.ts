/** What stands around every answer and every chunk of one. */
export interface Envelope {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly model: string;
}

export function idOf(api: 'chat' | 'completions', requestId: string): string {
  return `${api === 'chat' ? 'chatcmpl' : 'cmpl'}-${requestId}`;
}
