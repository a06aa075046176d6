/** How many tokens images, videos and sounds count as, under the reference's names. */
export interface MediaEstimate {
  readonly image: {
    readonly mode: 'dynamic' | 'static';
    readonly width: number;
    readonly height: number;
    readonly pixelsPerToken: number;
    readonly tokens: number;
  };
  readonly video: {
    readonly width: number;
    readonly height: number;
    readonly seconds: number;
    /** 0 for no bound. */
    readonly tokensMax: number;
    /** 0: by the size of the frame. */
    readonly tokensPerFrame: number;
    readonly pixelsPerToken: number;
    readonly frames: 'sampled' | 'strided';
    readonly framesMin: number;
    /** 0 for no bound. */
    readonly framesMax: number;
    readonly sampledPerSecond: number;
    readonly framesPerGroup: number;
    readonly sourcePerSecond: number;
    readonly stride: number;
  };
  readonly audio: {
    /** 0: by its duration. */
    readonly tokens: number;
    readonly tokensPerSecond: number;
    readonly tokensMore: number;
    readonly bytesPerSecond: number;
    readonly seconds: number;
    /** 0 for no bound. */
    readonly tokensMax: number;
  };
}

const SIZE = { width: 640, height: 360 };
const PIXELS_PER_TOKEN = 1024;

/** The reference's values where a configuration says nothing. */
export const DEFAULT_MEDIA: MediaEstimate = {
  image: { mode: 'dynamic', ...SIZE, pixelsPerToken: PIXELS_PER_TOKEN, tokens: 1 },
  video: {
    ...SIZE,
    seconds: 10,
    tokensMax: 0,
    tokensPerFrame: 0,
    pixelsPerToken: PIXELS_PER_TOKEN,
    frames: 'sampled',
    framesMin: 0,
    framesMax: 0,
    sampledPerSecond: 2,
    framesPerGroup: 1,
    sourcePerSecond: 24,
    stride: 1,
  },
  audio: {
    tokens: 0,
    tokensPerSecond: 25,
    tokensMore: 0,
    bytesPerSecond: 16_000,
    seconds: 10,
    tokensMax: 0,
  },
};

/** How prompts are read, which the configuration says. */
export interface PromptReading {
  /** Whether prompts are hashed as the reference's text of them. */
  readonly referenceText: boolean;
  readonly media: MediaEstimate;
  /** Whether what a body says about the length of its answer is read. */
  readonly answerLengths?: boolean | undefined;
}
