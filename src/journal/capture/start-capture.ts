import type { Clock } from '../../framework/runtime.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';
import { CaptureRecorder, type CaptureRecorderOptions } from './capture-recorder.ts';

interface CapturedPicker {
  readonly picker: EndpointPicker;
  readonly capture: CaptureRecorder;
}

/**
 * Makes a recorder, and by `start` a picker that it subscribes to, as they share the picker's
 * clock. The runtime's clock must give whole microseconds, see `inMicroseconds`.
 */
export function startCapture(
  options: Omit<CaptureRecorderOptions, 'clock'>,
  start: (capture: CaptureRecorder) => EndpointPicker,
): CapturedPicker {
  const clock = {
    now: () => picker.clock.now(),
    wallTime: () => picker.clock.wallTime(),
    get timers() {
      return picker.clock.timers;
    },
  };
  const capture = new CaptureRecorder({ ...options, clock });
  const picker: EndpointPicker = start(capture);
  return { picker, capture };
}

/** The same time in whole microseconds, which a capture writes in few digits without loss. */
export function inMicroseconds(clock: Clock): Clock {
  return {
    now: () => Math.floor(clock.now() * 1000) / 1000,
    wallTime: () => clock.wallTime(),
    setTimer: (delay, callback) => clock.setTimer(delay, callback),
  };
}
