{{/*
[what was adopted, version, machine template's spec, bootstrap configuration]: the
machines of a cluster that another chart made keep that chart's objects as long as
the values say what they said when it was adopted; then gives back its names, else {}. JSON.
*/}}
{{- define "adopted.machines" -}}
{{- $adopted := default dict (index . 0) -}}
{{- if and $adopted.digest (eq $adopted.digest (include "structure.hash" (rest .))) -}}
  {{- mustToJson $adopted -}}
{{- else -}}
  {}
{{- end -}}
{{- end -}}
