import { z } from 'zod';
import { DEFAULT_MEDIA, type MediaEstimate } from '../../framework/prompt-reading.ts';

const whole = z.int().optional();
const number = z.number().optional();
const size = z.strictObject({ width: whole, height: whole }).optional();
const byPixels = z.strictObject({ factor: whole }).optional();
const constant = z.strictObject({ staticToken: whole }).optional();
const mode = z.enum(['dynamic', 'static', '']).optional();

const image = z.strictObject({
  mode,
  defaultResolution: size,
  dynamic: byPixels,
  static: constant,
});

const frames = z.lazy(() =>
  z.strictObject({
    mode: z.enum(['sampled', 'strided', '']).optional(),
    minFrames: whole,
    maxFrames: whole,
    sampled: z.strictObject({ sampleFPS: number, temporalPatchSize: whole }).optional(),
    strided: z.strictObject({ defaultSourceFPS: number, frameStride: whole }).optional(),
  }),
);

const video = z.lazy(() =>
  z.strictObject({
    defaultResolution: size,
    defaultDuration: number,
    maxVideoTokens: whole,
    tokensPerFrame: z
      .strictObject({
        mode,
        dynamic: byPixels,
        static: z.strictObject({ numTokensPerFrame: whole }).optional(),
      })
      .optional(),
    frames: frames.optional(),
  }),
);

const audio = z.lazy(() =>
  z.strictObject({
    mode,
    defaultDuration: number,
    maxAudioTokens: whole,
    dynamic: z
      .strictObject({ tokensPerSecond: number, fixedOverheadTokens: whole, bytesPerSecond: number })
      .optional(),
    static: constant,
  }),
);

/**
 * How many tokens images, videos and sounds of prompts count as: `estimate` of a `token-producer`.
 * Numbers that are not above 0 are as if they were not there, as in the reference.
 */
export const estimateConfig: z.ZodType<MediaEstimate> = z.lazy(() =>
  z
    .strictObject({ image: image.optional(), video: video.optional(), audio: audio.optional() })
    .transform((given) => ({
      image: imageOf(given.image ?? {}),
      video: videoOf(given.video ?? {}),
      audio: audioOf(given.audio ?? {}),
    })),
);

function imageOf(given: z.infer<typeof image>): MediaEstimate['image'] {
  const byDefault = DEFAULT_MEDIA.image;
  return {
    mode: given.mode || byDefault.mode,
    ...sizeOf(given.defaultResolution, byDefault),
    pixelsPerToken: above0(given.dynamic?.factor, byDefault.pixelsPerToken),
    tokens: above0(given.static?.staticToken, byDefault.tokens),
  };
}

function videoOf(given: z.infer<typeof video>): MediaEstimate['video'] {
  const byDefault = DEFAULT_MEDIA.video;
  const { tokensPerFrame, frames: counted } = given;
  const isStatic = tokensPerFrame?.mode === 'static';
  return {
    ...sizeOf(given.defaultResolution, byDefault),
    seconds: above0(given.defaultDuration, byDefault.seconds),
    tokensMax: above0(given.maxVideoTokens, 0),
    tokensPerFrame: isStatic ? above0(tokensPerFrame.static?.numTokensPerFrame, 1) : 0,
    pixelsPerToken: above0(tokensPerFrame?.dynamic?.factor, byDefault.pixelsPerToken),
    frames: counted?.mode || byDefault.frames,
    framesMin: above0(counted?.minFrames, 0),
    framesMax: above0(counted?.maxFrames, 0),
    sampledPerSecond: above0(counted?.sampled?.sampleFPS, byDefault.sampledPerSecond),
    framesPerGroup: above0(counted?.sampled?.temporalPatchSize, 1),
    sourcePerSecond: above0(counted?.strided?.defaultSourceFPS, byDefault.sourcePerSecond),
    stride: above0(counted?.strided?.frameStride, 1),
  };
}

function audioOf(given: z.infer<typeof audio>): MediaEstimate['audio'] {
  const byDefault = DEFAULT_MEDIA.audio;
  const { dynamic } = given;
  return {
    tokens: given.mode === 'static' ? above0(given.static?.staticToken, 1) : 0,
    tokensPerSecond: above0(dynamic?.tokensPerSecond, byDefault.tokensPerSecond),
    tokensMore: above0(dynamic?.fixedOverheadTokens, 0),
    bytesPerSecond: above0(dynamic?.bytesPerSecond, byDefault.bytesPerSecond),
    seconds: above0(given.defaultDuration, byDefault.seconds),
    tokensMax: above0(given.maxAudioTokens, 0),
  };
}

function sizeOf(
  given: z.infer<typeof size>,
  { width, height }: { readonly width: number; readonly height: number },
): { readonly width: number; readonly height: number } {
  return { width: above0(given?.width, width), height: above0(given?.height, height) };
}

function above0(given: number | undefined, byDefault: number): number {
  return given !== undefined && given > 0 ? given : byDefault;
}
