{{/* [values, path…]: what is at the end of a path, as JSON; null if it ends early. */}}
{{- define "monitoring.at" -}}
{{- $tree := index . 0 -}}
{{- range rest . -}}
  {{- $tree = kindIs "map" $tree | ternary (get (kindIs "map" $tree | ternary $tree dict) .) nil -}}
{{- end -}}
{{- mustToJson $tree -}}
{{- end -}}

{{- define "monitoring.alertmanagerSize" -}}
{{- include "monitoring.at" (list . "alertmanager" "alertmanagerSpec" "storage" "volumeClaimTemplate" "spec" "resources" "requests" "storage") | mustFromJson | default "" -}}
{{- end -}}

{{- define "monitoring.prometheusSize" -}}
{{- include "monitoring.at" (list . "prometheus" "prometheusSpec" "storageSpec" "volumeClaimTemplate" "spec" "resources" "requests" "storage") | mustFromJson | default "" -}}
{{- end -}}

{{/* Prometheus stops before its volume is full: at 85 % of it. Nothing for a size that is not in Mi, Gi or Ti. */}}
{{- define "monitoring.retentionSize" -}}
{{- $factors := dict "Mi" 1 "Gi" 1024 "Ti" 1048576 -}}
{{- if regexMatch "^[0-9]+(Mi|Gi|Ti)$" . -}}
{{- $number := regexFind "^[0-9]+" . | int64 -}}
{{- div (mul $number (get $factors (regexFind "[A-Za-z]+$" .)) 85) 100 -}}MB
{{- end -}}
{{- end -}}

{{- define "monitoring.prometheus" -}}
# Monitors and rules of all addons count, whoever made them.
prometheus:
  prometheusSpec:
    {{- range list "podMonitor" "probe" "rule" "serviceMonitor" "scrapeConfig" }}
    {{ . }}SelectorNilUsesHelmValues: false
    {{- end }}
    {{- with include "monitoring.retentionSize" (include "monitoring.prometheusSize" .Values.addons.monitoring.kubePrometheusStack.release.values) }}
    retentionSize: {{ . }}
    {{- end }}
# As the control plane is set up by kubeadm here.
kubeControllerManager:
  service: {port: 10257, targetPort: 10257}
  serviceMonitor: {https: true, insecureSkipVerify: true}
kubeScheduler:
  service: {port: 10259, targetPort: 10259}
  serviceMonitor: {https: true, insecureSkipVerify: true}
kubeEtcd:
  service: {port: 2381, targetPort: 2381}
kubeProxy:
  enabled: {{ include "cilium.replacesKubeProxy" . | empty }}
  service: {port: 10249, targetPort: 10249}
{{- if .Values.addons.monitoring.lokiStack.enabled }}
grafana:
  additionalDataSources:
    - {name: Loki, type: loki, access: proxy, url: "http://loki-stack:3100", editable: false}
{{- end }}
{{- end -}}

{{/* [selector, size]: volumes follow a size that grew; StatefulSets do not do that. */}}
{{- define "monitoring.resize" -}}
apiVersion: v1
kind: PersistentVolumeClaim
action: patch
selector: {{ mustToJson (index . 0) }}
options:
  type: strategic
  data: {spec: {resources: {requests: {storage: {{ index . 1 | quote }} } } } }
{{- end -}}

{{- define "monitoring.prometheusHooks" -}}
{{- $alertmanager := dict "alertmanager" "kube-prometheus-stack-alertmanager" -}}
{{- $prometheus := dict "operator.prometheus.io/name" "kube-prometheus-stack-prometheus" -}}
preUpgrade:
  {{- with include "monitoring.alertmanagerSize" . }}
  - {{- include "monitoring.resize" (list $alertmanager .) | nindent 4 }}
  {{- end }}
  {{- with include "monitoring.prometheusSize" . }}
  - {{- include "monitoring.resize" (list $prometheus .) | nindent 4 }}
  {{- end }}
  {{- if not (or (include "monitoring.alertmanagerSize" .) (include "monitoring.prometheusSize" .)) }} []{{ end }}
postDelete:
  {{- range list $alertmanager $prometheus }}
  - apiVersion: v1
    kind: PersistentVolumeClaim
    action: delete
    selector: {{ mustToJson . }}
  {{- end }}
{{- end -}}

{{- define "monitoring.lokiHooks" -}}
preUpgrade:
  - apiVersion: apps/v1
    kind: StatefulSet
    action: delete
    name: loki-stack
    options: {propagationPolicy: Orphan}
  {{- with include "monitoring.at" (list . "loki" "persistence" "size") | mustFromJson }}
  - {{- include "monitoring.resize" (list (dict "app" "loki" "release" "loki-stack") .) | nindent 4 }}
  {{- end }}
{{- end -}}

{{- define "monitoring.blackbox" -}}
serviceMonitor:
  enabled: true
  defaults:
    module: http_2xx
{{- if .Values.addons.monitoring.blackboxExporter.openstackAuthUrlTarget.enabled }}
  targets:
    {{ `{%- set clouds = cloud_identity.data["clouds.yaml"] | b64decode | fromyaml %}` }}
    {{ `{%- for name, cloud in clouds.clouds.items() %}` }}
    - name: openstack-{{ `{{ name }}` }}
      url: {{ `{{ cloud.auth.auth_url }}` }}
    {{ `{%- endfor %}` }}
{{- end }}
{{- end -}}
