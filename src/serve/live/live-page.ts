import type { ServerResponse } from 'node:http';
import type { AdminStream } from '../admin/admin-routes.ts';
import type { AdminServerOptions } from '../admin/admin-server.ts';
import { LiveSource, type LiveSourceParts } from './live-source.ts';
import { pageFiles } from './page-files.ts';
import { VIEWERS_MAX, type ViewerStream, Viewers } from './viewers.ts';

/** The live page at `/ui` of the metrics port, and its events at `/debug/live`. */
export function livePage(
  parts: Omit<LiveSourceParts, 'viewers'>,
): Pick<AdminServerOptions, 'files' | 'streams'> {
  const source = new LiveSource({ ...parts, viewers: () => viewers.count });
  const viewers = new Viewers(parts.clock, source);
  const stream: AdminStream = (response) =>
    viewers.add(streamOf(response))
      ? undefined
      : `${VIEWERS_MAX} pages are open already: close one of them`;
  return { files: pageFiles(), streams: new Map([['/debug/live', stream]]) };
}

function streamOf(response: ServerResponse): ViewerStream {
  return {
    write: (text) => void response.write(text),
    get pendingBytes() {
      return response.writableLength;
    },
    end: () => void response.destroy(),
    onClose: (closed) => void response.once('close', closed),
  };
}
