import { expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { renderEnvoyConfig } from '../../../src/lab/envoy/render-config.ts';
import { withoutPicker } from './sides.ts';

it('[D574] an Envoy without a picker is the shipped one with a destination in its place', () => {
  const text = renderEnvoyConfig({
    wiring: 'envoy',
    listenerPort: 0,
    extProcAddress: '127.0.0.1:1',
    edit: (config) => withoutPicker(config, '127.0.1.1:8000'),
  });
  const config: unknown = parseDocument(text).toJS();
  const kept = JSON.stringify(config);
  expect(kept).not.toContain('ext_proc');
  expect(kept).toContain('"name":"picked_endpoint"');
  expect(kept).toContain(
    '"mutations":[{"append":{"header":{"key":"x-gateway-destination-endpoint","value":"127.0.1.1:8000"},' +
      '"append_action":"OVERWRITE_IF_EXISTS_OR_ADD"}}]',
  );
});

it('[D574] another shape of the shipped file is an error', () => {
  const other = parseDocument('static_resources: { clusters: [] }');
  expect(() => withoutPicker(other, '127.0.1.1:8000')).toThrow('no filter and no second cluster');
});
