import { type HeaderField, headerField } from './header-field.ts';

/** RFC 7541, appendix A, from index 1: names, and after a space their values. */
const FIELDS = `
:authority
:method GET
:method POST
:path /
:path /index.html
:scheme http
:scheme https
:status 200
:status 204
:status 206
:status 304
:status 400
:status 404
:status 500
accept-charset
accept-encoding gzip, deflate
accept-language
accept-ranges
accept
access-control-allow-origin
age
allow
authorization
cache-control
content-disposition
content-encoding
content-language
content-length
content-location
content-range
content-type
cookie
date
etag
expect
expires
from
host
if-match
if-modified-since
if-none-match
if-range
if-unmodified-since
last-modified
link
location
max-forwards
proxy-authenticate
proxy-authorization
range
referer
refresh
retry-after
server
set-cookie
strict-transport-security
transfer-encoding
user-agent
vary
via
www-authenticate`;

/** The field of an index is at the place before it: indexes begin with 1. */
export const STATIC_TABLE: readonly HeaderField[] = FIELDS.trim()
  .split('\n')
  .map((line) => {
    const [name = '', ...value] = line.split(' ');
    return headerField(name, value.join(' '));
  });
