import type { MediaEstimate } from '../../framework/prompt-reading.ts';
import type { ImageSize } from './image-size.ts';

type Headers = ReadonlyMap<string, string>;

/** An image of unknown size counts as one of the configured size; at least 1 token. */
export function imageTokens({ image }: MediaEstimate, size: ImageSize['size']): number {
  if (image.mode === 'static') return atLeastOne(image.tokens);
  const { width, height } = size ?? image;
  return atLeastOne((width * height) / image.pixelsPerToken);
}

/** A video counts by what headers and the configuration say: its content is not looked at. */
export function videoTokens({ video }: MediaEstimate, headers: Headers): number {
  const seconds = positive(headers, 'x-llm-d-video-duration-seconds') ?? video.seconds;
  const tokens = framesOf(video, seconds, headers) * tokensPerFrame(video, headers);
  return atLeastOne(bounded(tokens, video.tokensMax));
}

/** `bytes` and `wavSeconds` are undefined where they are not known, as of a URL. */
export function audioTokens(
  { audio }: MediaEstimate,
  headers: Headers,
  { bytes, wavSeconds }: { readonly bytes?: number; readonly wavSeconds?: number | undefined },
): number {
  if (audio.tokens > 0) return atLeastOne(audio.tokens);
  const bySize = bytes === undefined ? undefined : bytes / audio.bytesPerSecond;
  const seconds =
    positive(headers, 'x-llm-d-audio-duration-seconds') ?? wavSeconds ?? bySize ?? audio.seconds;
  const tokens = audio.tokensMore + Math.floor(audio.tokensPerSecond * seconds);
  return atLeastOne(bounded(tokens, audio.tokensMax));
}

function framesOf(video: MediaEstimate['video'], seconds: number, headers: Headers): number {
  const { framesMin, framesMax } = video;
  const within = (frames: number): number => bounded(Math.max(frames, framesMin), framesMax);
  if (video.frames === 'strided') {
    const perSecond = positive(headers, 'x-llm-d-video-fps') ?? video.sourcePerSecond;
    return within(Math.floor(Math.floor(seconds * perSecond) / video.stride));
  }
  const frames = within(Math.floor(seconds * video.sampledPerSecond));
  return Math.floor(frames / video.framesPerGroup);
}

function tokensPerFrame(video: MediaEstimate['video'], headers: Headers): number {
  if (video.tokensPerFrame > 0) return video.tokensPerFrame;
  const said = /^ *(\d+) *[xX] *(\d+) *$/.exec(headers.get('x-llm-d-video-resolution') ?? '');
  const [width, height] = [Number(said?.[1] ?? 0), Number(said?.[2] ?? 0)];
  const pixels = width > 0 && height > 0 ? width * height : video.width * video.height;
  return atLeastOne(pixels / video.pixelsPerToken);
}

function bounded(value: number, max: number): number {
  return max > 0 ? Math.min(value, max) : value;
}

function atLeastOne(tokens: number): number {
  return Math.max(1, Math.floor(tokens));
}

function positive(headers: Headers, name: string): number | undefined {
  const value = Number(headers.get(name));
  return value > 0 && value < Number.POSITIVE_INFINITY ? value : undefined;
}
