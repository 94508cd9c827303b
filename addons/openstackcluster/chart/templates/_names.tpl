{{- define "cluster.name" -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/*
[root, component]: the name of one of the cluster's objects. What is too long for
a label ends in a hash, so that two long names never become one.
*/}}
{{- define "cluster.componentName" -}}
{{- $name := printf "%s-%s" (include "cluster.name" (index . 0)) (index . 1) -}}
{{- if gt (len $name) 63 -}}
  {{- $name = printf "%s-%s" (trunc 54 $name | trimSuffix "-") (sha256sum $name | trunc 8) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{/* [root, component, content]: the name of a template by what is in it. */}}
{{- define "cluster.templateName" -}}
{{- $name := printf "%s-%s" (include "cluster.name" (index . 0)) (index . 1) -}}
{{- if gt (len $name) 54 -}}
  {{- $name = printf "%s-%s" (trunc 45 $name | trimSuffix "-") (sha256sum $name | trunc 8) -}}
{{- end -}}
{{- printf "%s-%s" $name (include "structure.hash" (index . 2)) -}}
{{- end -}}

{{/* [root, component, node group]: what selects machines. The group may be left out. */}}
{{- define "cluster.selectorLabels" -}}
{{- $root := index . 0 -}}
{{- $prefix := $root.Values.projectPrefix -}}
{{ $prefix }}/cluster: {{ include "cluster.name" $root | quote }}
{{ $prefix }}/component: {{ index . 1 | quote }}
{{- if gt (len .) 2 }}
{{ $prefix }}/node-group: {{ index . 2 | quote }}
{{- end }}
{{- end -}}

{{- define "cluster.commonLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | quote }}
{{ .Values.projectPrefix }}/managed-by: {{ .Release.Service | quote }}
{{ .Values.projectPrefix }}/infrastructure-provider: openstack
{{- end -}}

{{/* [root, component, node group]: all labels of an object. */}}
{{- define "cluster.labels" -}}
{{ include "cluster.commonLabels" (index . 0) }}
{{ include "cluster.selectorLabels" . }}
{{- end -}}

{{/* The labels of the objects of addons; capi-helm-charts' prefix is fixed there. */}}
{{- define "cluster.addonLabels" -}}
{{- $root := index . 0 -}}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | quote }}
capi.stackhpc.com/managed-by: {{ $root.Release.Service | quote }}
capi.stackhpc.com/cluster: {{ include "cluster.name" $root | quote }}
capi.stackhpc.com/component: {{ index . 1 | trunc 63 | trimSuffix "-" | quote }}
{{- end -}}

{{/* [root, machine settings]: the Kubernetes version with its v. */}}
{{- define "cluster.kubernetesVersion" -}}
{{- $version := (index . 1).kubernetesVersion | default (index . 0).Values.kubernetesVersion -}}
{{- if not $version -}}
  {{- fail "kubernetesVersion is required: the version in the machine image, such as 1.34.4" -}}
{{- end -}}
{{- printf "v%s" (toString $version | trimPrefix "v") -}}
{{- end -}}

{{/* The Secret with clouds.yaml. */}}
{{- define "cluster.credentialsName" -}}
{{- .Values.cloudCredentialsSecretName | default (include "cluster.componentName" (list . "cloud-credentials")) -}}
{{- end -}}
