import { parseBounded } from '../json/parse-bounded.ts';

/** One image, video or sound of a prompt. */
export interface MediaItem {
  /** Its URL, or its content in base64. */
  readonly source: string;
  readonly modality: 'image' | 'video' | 'audio';
}

/** Fields of a part of a message that hold media: an object, or the text itself. */
const MEDIA_FIELDS: readonly (readonly [field: string, modality: MediaItem['modality']])[] = [
  ['image_url', 'image'],
  ['source', 'image'],
  ['video_url', 'video'],
  ['input_audio', 'audio'],
  ['audio_url', 'audio'],
];

/** The different media of a whole chat request; none of a body that is no JSON or too large. */
export function mediaItems(pieces: readonly Uint8Array[]): readonly MediaItem[] {
  const items = new Map<string, MediaItem>();
  for (const message of listIn(parseBounded(pieces), 'messages', 'input')) {
    for (const part of listIn(message, 'content')) {
      const item = itemOf(part);
      if (item !== undefined) items.set(`${item.modality} ${item.source}`, item);
    }
  }
  return [...items.values()];
}

function itemOf(part: unknown): MediaItem | undefined {
  for (const [field, modality] of MEDIA_FIELDS) {
    const value = fieldOf(part, field);
    // A source is an object; as text it is a link to what a search has found.
    if (typeof value === 'string' && field === 'source') continue;
    const source = typeof value === 'string' ? value : textIn(value);
    if (source !== '') return { source, modality };
  }
  return undefined;
}

function textIn(value: unknown): string {
  if (fieldOf(value, 'type') === 'text') return '';
  const text = fieldOf(value, 'url') ?? fieldOf(value, 'data');
  return typeof text === 'string' ? text : '';
}

/** The first of these fields that is a list. */
function listIn(value: unknown, ...fields: readonly string[]): readonly unknown[] {
  const found = fields.map((field) => fieldOf(value, field)).find(Array.isArray);
  return (found as readonly unknown[] | undefined) ?? [];
}

function fieldOf(value: unknown, field: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Readonly<Record<string, unknown>>)[field];
}
