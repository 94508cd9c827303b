{{/*
Objects of addons.stackhpc.com. The addon provider renders what it is given as
templates in the manner of Jinja2; what users wrote is kept from that.
*/}}

{{/* Text that comes out of the addon provider as it went in. */}}
{{- define "addon.protect" -}}
{{- if regexMatch "\\{[{%#]" . -}}
{% raw %}{{ . | replace "{% endraw %}" "{% endraw %}{{ '{% endraw %}' }}{% raw %}" }}{% endraw %}
{{- else -}}
{{- . -}}
{{- end -}}
{{- end -}}

{{/* A map as text. toYaml takes the last line's end away, which may be part of the last value. */}}
{{- define "addon.yaml" -}}
{{- toYaml . | printf "%s\n" -}}
{{- end -}}

{{/*
[root, values]: a user's values for a chart of ours. Whoever wrote {% raw %} wrote
for capi-helm-charts, which renders them; so do we then, or when told to.
*/}}
{{- define "addon.overrides" -}}
{{- $text := include "addon.yaml" (index . 1) -}}
{{- if or (index . 0).Values.addons.templateOverrides (regexMatch "\\{%-?\\s*raw\\s*-?%\\}" $text) -}}
{{- $text -}}
{{- else -}}
{{- include "addon.protect" $text -}}
{{- end -}}
{{- end -}}

{{/* [root, name]: what all objects of an addon begin with. */}}
{{- define "addon.metadata" -}}
metadata:
  name: {{ include "cluster.componentName" . }}
  labels:
    {{- include "cluster.addonLabels" . | nindent 4 }}
{{- end -}}

{{/* [root, name, data]: the Secret with an addon's values or manifests. */}}
{{- define "addon.secret" -}}
{{- $root := index . 0 -}}
apiVersion: v1
kind: Secret
metadata:
  name: {{ include "cluster.componentName" (list $root (printf "%s-config" (index . 1))) }}
  labels:
    {{- include "cluster.addonLabels" (list $root (index . 1)) | nindent 4 }}
    addons.stackhpc.com/watch: ""
    clusterctl.cluster.x-k8s.io/move: "true"
data:
  {{- range $key, $text := index . 2 }}
  {{ $key }}: {{ b64enc $text }}
  {{- end }}
{{- end -}}

{{/*
A release and its values. Keys: root, name, release (name on the cluster, else
name), namespace, chart, defaults (text that the addon provider renders),
overrides (the user's), hooks, bootstrap, secret ({name, key} of values that
Slipway keeps).
*/}}
{{- define "addon.helmRelease" -}}
{{- $data := dict -}}
{{- with .defaults -}}{{- $_ := set $data "defaults" . -}}{{- end -}}
{{- if .overrides -}}{{- $_ := set $data "overrides" (include "addon.overrides" (list .root .overrides)) -}}{{- end -}}
{{- with .values -}}{{- $_ := set $data "values" . -}}{{- end }}
{{- if $data }}
---
{{ include "addon.secret" (list .root .name $data) }}
{{- end }}
---
apiVersion: addons.stackhpc.com/v1alpha1
kind: HelmRelease
{{ include "addon.metadata" (list .root .name) }}
spec:
  clusterName: {{ include "cluster.name" .root }}
  bootstrap: true
  chart:
    {{- toYaml (omit .chart "enabled") | nindent 4 }}
  targetNamespace: {{ .namespace }}
  releaseName: {{ .release | default .name }}
  valuesSources: {{ empty $data | ternary "[]" "" }}
    {{- with .secret }}
    - secret:
        {{- toYaml . | nindent 8 }}
    {{- end }}
    {{- $secret := include "cluster.componentName" (list .root (printf "%s-config" .name)) }}
    {{- range list "defaults" "overrides" "values" }}
    {{- if hasKey $data . }}
    - secret:
        name: {{ $secret }}
        key: {{ . }}
    {{- end }}
    {{- end }}
  {{- with .hooks }}
  lifecycleHooks:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* Manifests. Keys: root, name, release, namespace, template (text that the addon provider renders), secret ({name, keys}), hooks, bootstrap. */}}
{{- define "addon.manifests" }}
---
apiVersion: addons.stackhpc.com/v1alpha1
kind: Manifests
{{ include "addon.metadata" (list .root .name) }}
spec:
  clusterName: {{ include "cluster.name" .root }}
  bootstrap: {{ hasKey . "bootstrap" | ternary .bootstrap true }}
  targetNamespace: {{ .namespace }}
  releaseName: {{ .release | default .name }}
  manifestSources:
    {{- if .template }}
    - template: {{ .template | trim | printf "%s\n" | quote }}
    {{- else if .secret }}
    - secret:
        {{- toYaml .secret | nindent 8 }}
    {{- else }}
    - secret:
        name: {{ include "cluster.componentName" (list .root (printf "%s-config" .name)) }}
    {{- end }}
  {{- with .hooks }}
  lifecycleHooks:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* Is cert-manager needed, because it is asked for or because an addon cannot do without? */}}
{{- define "addon.certManager" -}}
{{- with .Values.addons -}}
{{- if or .certManager.enabled .amdGPUOperator.enabled .intelDevicePlugin.enabled -}}true{{- end -}}
{{- end -}}
{{- end -}}

{{- define "addon.monitoring" -}}
{{- if and .Values.addons.enabled .Values.addons.monitoring.enabled -}}true{{- end -}}
{{- end -}}
