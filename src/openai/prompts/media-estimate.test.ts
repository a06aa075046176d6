import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { estimateConfig } from '../../endpoints/tokenize/estimate-config.ts';
import { DEFAULT_MEDIA } from '../../framework/prompt-reading.ts';
import { createOpenBody } from '../parsers/open-body.ts';
import { ImageSize } from './image-size.ts';

/** The beginning of a PNG image of this size in pixels, 16 bytes and this many. */
function png(width: number, height: number, more = 400): Buffer {
  const bytes = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1');
  const size = Buffer.alloc(more);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  return Buffer.concat([bytes, size]);
}

function gif(width: number, height: number): Buffer {
  const bytes = Buffer.alloc(40);
  bytes.write('GIF89a', 'latin1');
  bytes.writeUInt16LE(width, 6);
  bytes.writeUInt16LE(height, 8);
  return bytes;
}

/** With a preview of this many bytes before the size. */
function jpeg(width: number, height: number, previewBytes: number): Buffer {
  const preview = Buffer.alloc(4 + previewBytes);
  preview.writeUInt32BE(0xffe10000 + previewBytes + 2);
  const frame = Buffer.from([0xff, 0xc2, 0, 17, 8, 0, 0, 0, 0, 3, 0, 0]);
  frame.writeUInt16BE(height, 5);
  frame.writeUInt16BE(width, 7);
  return Buffer.concat([Buffer.from([0xff, 0xd8]), preview, Buffer.from([0xff]), frame]);
}

/** A sound of 8,000 bytes, which may say that it is longer or slower than a second. */
function wav(bytesPerSecond = 8000, said = 8000): Buffer {
  const bytes = Buffer.alloc(44 + 8000);
  bytes.write('RIFF\0\0\0\0WAVEfmt ', 'latin1');
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt32LE(bytesPerSecond, 28);
  bytes.write('data', 36, 'latin1');
  bytes.writeUInt32LE(said, 40);
  return bytes;
}

const dataUrl = (type: string, bytes: Buffer): string =>
  `data:${type};base64,${bytes.toString('base64')}`;
const image = (url: string): object => ({ type: 'image_url', image_url: { url } });
const source = (bytes: Buffer): object => ({
  type: 'image',
  source: { type: 'base64', data: bytes.toString('base64') },
});
const sound = (bytes: Buffer): object => ({
  type: 'input_audio',
  input_audio: { data: bytes.toString('base64'), format: 'wav' },
});
const VIDEO = { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } };
const AUDIO_LINK = { type: 'audio_url', audio_url: { url: 'https://example.com/a.mp3' } };
const LINK = image('https://example.com/a.png');

interface Given {
  readonly estimate?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly referenceText?: boolean;
}

/** The tokens of a prompt that has only these parts, less those of a prompt without. */
function tokensOf(parts: readonly object[], given: Given = {}): number {
  return promptTokens(parts, given) - promptTokens([], given);
}

function promptTokens(
  content: readonly object[],
  { estimate, headers = {}, referenceText = true }: Given,
): number {
  const media = estimate === undefined ? DEFAULT_MEDIA : estimateConfig.parse(estimate);
  const prompts = { referenceText, media };
  const openBody = createOpenBody({ bodyBytesMax: 1e9, hashSeed: 1, prompts: () => prompts });
  const head = { id: 'a', path: '/v1/chat/completions', headers: new Map(Object.entries(headers)) };
  const reader = openBody(head);
  // A role of 4 bytes keeps to whole tokens.
  reader.push(Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] })));
  return reader.end().promptTokens;
}

describe('[D334] tokens of media', () => {
  it.each([
    ['an image behind a link', LINK, {}, 225],
    ['a PNG', image(dataUrl('image/png', png(1920, 1080))), {}, 2025],
    ['a PNG without a URL', source(png(1920, 1080)), {}, 2025],
    ['a GIF', image(dataUrl('image/gif', gif(64, 64))), {}, 4],
    ['a JPEG', image(dataUrl('image/jpeg', jpeg(1024, 512, 60_000))), {}, 512],
    ['an image without a size', image('data:image/png;base64,AAAA'), {}, 225],
    ['a tiny image', image(dataUrl('image/png', png(1, 1))), {}, 1],
    ['a video', VIDEO, {}, 20 * 225],
    ['a sound in WAV', sound(wav()), {}, 25],
    ['another sound, by its size', sound(Buffer.alloc(32_000, 7)), {}, 50],
    ['a sound behind a link', AUDIO_LINK, {}, 250],
  ])('%s', (_what, part, given, wanted) => {
    expect(tokensOf([part], given)).toBe(wanted);
  });

  it.each([
    [{ image: { mode: 'static', static: { staticToken: 7 } } }, LINK, 7],
    [{ image: { mode: 'static' } }, LINK, 1],
    [{ image: { defaultResolution: { width: 32, height: 64 } } }, LINK, 2],
    [{ image: { dynamic: { factor: 100 } } }, LINK, 2304],
    [{ image: { dynamic: { factor: -1 } } }, LINK, 225],
    [{ video: { defaultDuration: 3 } }, VIDEO, 6 * 225],
    [{ video: { maxVideoTokens: 100 } }, VIDEO, 100],
    [{ video: { frames: { maxFrames: 5 } } }, VIDEO, 5 * 225],
    [{ video: { frames: { minFrames: 30, sampled: { temporalPatchSize: 2 } } } }, VIDEO, 15 * 225],
    [{ video: { frames: { sampled: { sampleFPS: 0.55 } } } }, VIDEO, 5 * 225],
    [{ video: { frames: { mode: 'strided', strided: { frameStride: 7 } } } }, VIDEO, 34 * 225],
    [
      { video: { tokensPerFrame: { mode: 'static', static: { numTokensPerFrame: 3 } } } },
      VIDEO,
      60,
    ],
    [{ audio: { mode: 'static', static: { staticToken: 9 } } }, AUDIO_LINK, 9],
    [{ audio: { dynamic: { tokensPerSecond: 12.5, fixedOverheadTokens: 14 } } }, AUDIO_LINK, 139],
    [{ audio: { maxAudioTokens: 8 } }, AUDIO_LINK, 8],
  ])('with %j', (estimate, part, wanted) => {
    expect(tokensOf([part], { estimate })).toBe(wanted);
  });

  it.each([
    [{ 'x-llm-d-video-duration-seconds': '2.6' }, {}, 5 * 225],
    [{ 'x-llm-d-video-resolution': '1024x10' }, {}, 20 * 10],
    [{ 'x-llm-d-video-resolution': 'large' }, {}, 20 * 225],
    [{ 'x-llm-d-video-fps': '10' }, { video: { frames: { mode: 'strided' } } }, 100 * 225],
    [{ 'x-llm-d-video-fps': 'NaN' }, { video: { frames: { mode: 'strided' } } }, 240 * 225],
    [{ 'x-llm-d-video-duration-seconds': '-1' }, {}, 20 * 225],
  ])('of a video with the headers %j', (headers, estimate, wanted) => {
    expect(tokensOf([VIDEO], { headers, estimate })).toBe(wanted);
  });

  it.each([
    [256, 2025],
    [257, 225],
  ])('an image whose data begin behind %i characters of its URL', (prefixLength, wanted) => {
    const [type, end] = ['data:image/png;name=', ';base64,'];
    const name = 'a'.repeat(prefixLength - type.length - end.length);
    const url = `${type}${name}${end}${png(1920, 1080).toString('base64')}`;
    expect(tokensOf([image(url)])).toBe(wanted);
  });

  it('count alike where prompts are not read as the reference reads them', () => {
    const parts = [image(dataUrl('image/png', png(640, 640))), VIDEO, sound(wav())];
    const given = { referenceText: false, estimate: {} };
    // Behind each there is a line feed.
    const lineFeeds = parts.length / 4;
    expect(tokensOf(parts, given)).toBeCloseTo(400 + 4500 + 25 + lineFeeds, -1);
  });

  it('do not depend on where a body is cut', () => {
    const content = [image(dataUrl('image/jpeg', jpeg(1024, 512, 300))), sound(wav())];
    const body = Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] }));
    const prompts = { referenceText: true, media: DEFAULT_MEDIA };
    const openBody = createOpenBody({ bodyBytesMax: 1e9, hashSeed: 1, prompts: () => prompts });
    const read = (chunkBytes: number): number => {
      const reader = openBody({ id: 'a', path: '/v1/chat/completions', headers: new Map() });
      for (let at = 0; at < body.length; at += chunkBytes) {
        reader.push(body.subarray(at, at + chunkBytes));
      }
      return reader.end().promptTokens;
    };
    for (const chunkBytes of [1, 2, 7, 100]) expect(read(chunkBytes)).toBe(read(body.length));
  });

  it('of all media of a prompt are bounded, however large they say they are', () => {
    const day = { headers: { 'x-llm-d-video-duration-seconds': '86400' } };
    expect(tokensOf([VIDEO, VIDEO, LINK], day)).toBe(262_144 + 2);
  });

  it.each([
    ['an image', image(dataUrl('image/png', png(2 ** 31, 2 ** 31))), 225],
    [
      'an image with one pixel too many for its bytes',
      image(dataUrl('image/png', png(48 * 8256 + 1, 1, 32))),
      225,
    ],
    [
      'an image with as many pixels as its bytes can hold',
      image(dataUrl('image/png', png(48 * 8256, 1, 32))),
      387,
    ],
    ['a sound of 1,044 bytes', sound(wav(8000, 2 ** 32 - 1).subarray(0, 1044)), 3],
    ['a sound of one byte a second', sound(wav(1, 8000)), 12],
  ])('[V360] %s counts as no more than it can be', (_what, part, wanted) => {
    expect(tokensOf([part])).toBe(wanted);
  });

  it('name what is wrong in the parameters', () => {
    expect(() => estimateConfig.parse({ image: { mode: 'fixed' } })).toThrow();
    expect(() => estimateConfig.parse({ picture: {} })).toThrow();
  });
});

describe('[D334] the size of an image', () => {
  const images = [png(300, 200), gif(300, 200), jpeg(300, 200, 10), jpeg(300, 200, 65_000)];

  it('is read wherever its base64 text is cut', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...images),
        fc.array(fc.integer({ min: 1, max: 30_000 }), { minLength: 1, maxLength: 20 }),
        fc.boolean(),
        (bytes, cuts, escapes) => {
          const base64 = bytes.toString('base64');
          const text = Buffer.from(escapes ? base64.replaceAll('/', '\\/') : base64);
          const size = new ImageSize();
          let from = 0;
          for (let turn = 0; from < text.length; turn++) {
            const to = from + (cuts[turn % cuts.length] ?? 1);
            size.push(text.subarray(from, to));
            from = to;
          }
          size.end();
          expect(size.size).toEqual({ width: 300, height: 200 });
        },
      ),
      { seed: 334, numRuns: 200 },
    );
  });

  it('is unknown for anything else', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (bytes, isJpeg) => {
        const size = new ImageSize();
        size.push(isJpeg ? Buffer.from(`/9j/${Buffer.from(bytes).toString('base64')}`) : bytes);
        size.end();
        expect(size.size === undefined || size.size.width > 0).toBe(true);
      }),
      { seed: 334, numRuns: 500 },
    );
  });
});
