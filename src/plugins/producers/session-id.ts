import { z } from 'zod';
import { requestAttributeKey, SESSION_ID_ATTRIBUTE } from '../../framework/cycle-facts.ts';
import { type DataSourceDefinition, defineDataSource } from '../../framework/plugin.ts';

const COOKIES = 'cookie';
/** Where neither a header nor a cookie is named. */
const HEADER_DEFAULT = 'x-session-id';

interface SessionIdConfig {
  readonly headerName: string;
  readonly cookieName: string;
}

const config: z.ZodType<SessionIdConfig> = z.lazy(() =>
  z
    .strictObject({
      headerName: z.string().trim().toLowerCase().optional(),
      cookieName: z.string().trim().optional(),
    })
    .transform(({ headerName, cookieName }) => ({
      headerName: headerName ?? (cookieName === undefined ? HEADER_DEFAULT : ''),
      cookieName: cookieName ?? '',
    }))
    .refine(({ headerName, cookieName }) => (headerName === '') !== (cookieName === ''), {
      path: ['headerName'],
      message: 'give exactly one of headerName and cookieName',
    }),
);

/** Reads the id of a request's session from a header or a cookie, for session affinity. */
export const sessionIdProducer: DataSourceDefinition = defineDataSource({
  type: 'session-id-producer',
  config,
  headers: ({ headerName, cookieName }) =>
    cookieName === ''
      ? [{ name: headerName, as: 'id' }]
      : [{ name: COOKIES, as: 'id', cookie: cookieName }],
  provides: (_config, name) => [requestAttributeKey(SESSION_ID_ATTRIBUTE, name)],
  start({ headerName, cookieName }, { name }) {
    const sessionOf = (headers: ReadonlyMap<string, string>): string | undefined => {
      const sent =
        cookieName === '' ? headers.get(headerName) : cookieValue(headers.get(COOKIES), cookieName);
      const session = sent?.trim() ?? '';
      return session === '' ? undefined : session;
    };
    return {
      facts: [
        {
          key: requestAttributeKey(SESSION_ID_ATTRIBUTE, name),
          compute: (_endpoints, { request }) => sessionOf(request.headers),
        },
      ],
      stop: () => undefined,
    };
  },
});

/** The value of a cookie in the header `cookie`: `name=value` pairs, separated by semicolons. */
function cookieValue(cookies: string | undefined, name: string): string | undefined {
  for (const pair of cookies?.split(';') ?? []) {
    const equals = pair.indexOf('=');
    if (equals >= 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1);
  }
  return undefined;
}
