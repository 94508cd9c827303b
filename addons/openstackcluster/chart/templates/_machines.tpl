{{/* How long the deletion of a machine may take, from machine settings. YAML. */}}
{{- define "machines.deletion" -}}
{{- $deletion := pick . "nodeDrainTimeout" "nodeVolumeDetachTimeout" "nodeDeletionTimeout" -}}
{{- range keys $deletion | sortAlpha -}}
  {{- include "structure.durationToSeconds" (list $deletion . (printf "%sSeconds" .)) -}}
{{- end -}}
{{- if $deletion -}}
deletion:
  {{- toYaml $deletion | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* [root, spec, name, component, group]: a MachineHealthCheck, from either spelling of its spec. */}}
{{- define "machines.healthCheck" -}}
{{- $root := index . 0 -}}
{{- $given := deepCopy (default dict (index . 1)) -}}
{{- $checks := $given.checks | default dict -}}
{{- $remediation := $given.remediation | default dict -}}
{{- $trigger := $remediation.triggerIf | default dict -}}
{{- include "structure.durationToSeconds" (list $given "nodeStartupTimeout" "nodeStartupTimeoutSeconds") -}}
{{- if hasKey $given "nodeStartupTimeoutSeconds" -}}
  {{- $_ := set $checks "nodeStartupTimeoutSeconds" (int64 $given.nodeStartupTimeoutSeconds) -}}
{{- end -}}
{{- if $given.unhealthyConditions -}}
  {{- range $given.unhealthyConditions -}}
    {{- include "structure.durationToSeconds" (list . "timeout" "timeoutSeconds") -}}
  {{- end -}}
  {{- $_ := set $checks "unhealthyNodeConditions" $given.unhealthyConditions -}}
{{- end -}}
{{- if $given.unhealthyRange -}}
  {{- $_ := set $trigger "unhealthyInRange" $given.unhealthyRange -}}
{{- else if hasKey $given "maxUnhealthy" -}}
  {{- $_ := set $trigger "unhealthyLessThanOrEqualTo" $given.maxUnhealthy -}}
{{- end -}}
{{- $_ := set $remediation "triggerIf" $trigger -}}
{{- with $given.remediationTemplate -}}
  {{- $_ := set $remediation "templateRef" (pick . "apiVersion" "kind" "name") -}}
{{- end -}}
{{- include "structure.prune" $remediation -}}
{{- $labels := list $root (index . 3) -}}
{{- if gt (len .) 4 -}}{{- $labels = append $labels (index . 4) -}}{{- end -}}
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata:
  name: {{ index . 2 }}
  labels:
    {{- include "cluster.labels" $labels | nindent 4 }}
spec:
  clusterName: {{ include "cluster.name" $root }}
  selector:
    matchLabels:
      {{- include "cluster.selectorLabels" $labels | nindent 6 }}
  {{- with $checks }}
  checks:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $remediation }}
  remediation:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
