{{/* The release's name with the chart's name in it, at most 50 characters for later suffixes. */}}
{{- define "pointsman.name" -}}
{{- if contains "pointsman" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-pointsman" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "pointsman.selector" -}}
app.kubernetes.io/name: pointsman
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "pointsman.metadata" -}}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "pointsman.selector" . | nindent 2 }}
  app.kubernetes.io/component: endpoint-picker
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "pointsman.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}
