/** One profile with everything that fails, stages on other servers, and the built-in default. */
export const FAULTY_PLANS: readonly string[] = [
  `plugins: [{ type: test-source }, { type: test-filter }, { type: test-scorer }, { type: queue-scorer }, { type: test-picker }]
schedulingProfiles: [{ name: default, plugins: [{ pluginRef: test-filter }, { pluginRef: test-scorer }, { pluginRef: queue-scorer }, { pluginRef: test-picker }] }]
`,
  `plugins:
  - { type: test-source }
  - { type: test-scorer }
  - { type: prefill-filter }
  - { type: decode-filter }
  - { type: test-decider }
  - { type: test-picker }
  - { type: disagg-profile-handler, parameters: { deciders: { prefill: test-decider, encode: test-decider } } }
schedulingProfiles:
  - { name: prefill, plugins: [{ pluginRef: prefill-filter }, { pluginRef: test-scorer }] }
  - { name: decode, plugins: [{ pluginRef: decode-filter }, { pluginRef: test-scorer }, { pluginRef: test-picker }] }
  - { name: encode, plugins: [{ pluginRef: test-scorer }, { pluginRef: test-picker }] }
`,
  `plugins: [{ type: approx-prefix-cache-producer }, { type: predicted-cost-scorer }]
schedulingProfiles: [{ name: default, plugins: [{ pluginRef: predicted-cost-scorer }] }]
`,
];
