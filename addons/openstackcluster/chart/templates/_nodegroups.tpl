{{/* [root, group]: the settings of a node group, its own over the defaults; JSON. */}}
{{- define "nodegroup.settings" -}}
{{- $settings := deepCopy (index . 0).Values.nodeGroupDefaults -}}
{{- include "structure.merge" (list $settings (deepCopy (index . 1))) -}}
{{- /* The Magnum driver writes the string "true". */ -}}
{{- $_ := set $settings "autoscale" (eq (toString $settings.autoscale) "true") -}}
{{- mustToJson $settings -}}
{{- end -}}

{{/* [root, settings]: stops on what the API server would only tell later. */}}
{{- define "nodegroup.check" -}}
{{- $group := index . 1 -}}
{{- $name := required "nodeGroups: each needs a name" $group.name -}}
{{- if not (regexMatch "^[a-z][a-z0-9-]+[a-z0-9]$" $name) -}}
  {{- fail (printf "nodeGroups[%s].name: small letters, digits and dashes, at least three, begins with a letter" $name) -}}
{{- end -}}
{{- if $group.autoscale -}}
  {{- if or (kindIs "invalid" $group.machineCountMin) (kindIs "invalid" $group.machineCountMax) -}}
    {{- fail (printf "nodeGroups[%s]: autoscale needs machineCountMin and machineCountMax" $name) -}}
  {{- else if gt (int $group.machineCountMin) (int $group.machineCountMax) -}}
    {{- fail (printf "nodeGroups[%s]: machineCountMin is greater than machineCountMax" $name) -}}
  {{- end -}}
{{- else if kindIs "invalid" $group.machineCount -}}
  {{- fail (printf "nodeGroups[%s].machineCount is required" $name) -}}
{{- end -}}
{{- end -}}

{{/* [root, settings]: the kubeadm configuration of a worker in v1beta2, JSON. */}}
{{- define "nodegroup.kubeadmConfigSpec" -}}
{{- $root := index . 0 -}}
{{- $group := index . 1 -}}
{{- $spec := dict -}}
{{- $registration := include "kubeadm.node" (list $root $group (dict (printf "%s/node-group" $root.Values.projectPrefix) $group.name)) | fromYaml -}}
{{- include "kubeadm.add" (list $spec (dict "joinConfiguration" (dict "nodeRegistration" $registration))) -}}
{{- include "kubeadm.add" (list $spec (include "kubeadm.host" $root | fromYaml)) -}}
{{- include "kubeadm.add" (list $spec (include "kubeadm.kubelet" (list $root $group.kubeadmConfigSpec "joinConfiguration") | fromYaml)) -}}
{{- include "kubeadm.add" (list $spec (omit (default dict $group.kubeadmConfigSpec) "kubeProxyConfiguration")) -}}
{{- if eq $root.Values.osDistro "flatcar" -}}
  {{- include "kubeadm.add" (list $spec (include "kubeadm.flatcar" $root | fromYaml)) -}}
  {{- include "kubeadm.flatcarNames" $spec -}}
{{- end -}}
{{- include "kubeadm.convert" $spec -}}
{{- end -}}

{{/* [root, settings]: what the autoscaler reads from a MachineDeployment; YAML, or nothing. */}}
{{- define "nodegroup.annotations" -}}
{{- $root := index . 0 -}}
{{- $group := index . 1 -}}
{{- if $group.autoscale -}}
cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: {{ int $group.machineCountMin | quote }}
cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: {{ int $group.machineCountMax | quote }}
{{- /* With no node to look at, the autoscaler has to be told; CAPO tells CPU and memory in the template's status. */}}
{{- $labels := merge (dict (printf "%s/node-group" $root.Values.projectPrefix) $group.name) (default dict $group.nodeLabels) }}
capacity.cluster-autoscaler.kubernetes.io/labels: {{ include "kubeadm.labels" $labels | quote }}
{{- $taints := list }}
{{- range $group.nodeTaints }}
{{- $taints = append $taints (printf "%s=%s:%s" .key (default "" .value) .effect) }}
{{- end }}
{{- with $taints }}
capacity.cluster-autoscaler.kubernetes.io/taints: {{ join "," . | quote }}
{{- end }}
{{- $names := dict "cpu" "cpu" "memory" "memory" "ephemeralDisk" "ephemeral-disk" "maxPods" "maxPods" "gpuType" "gpu-type" "gpuCount" "gpu-count" }}
{{- range $key, $value := $group.capacity }}
{{- if not (kindIs "invalid" $value) }}
capacity.cluster-autoscaler.kubernetes.io/{{ get $names $key | default $key }}: {{ include "structure.text" $value | quote }}
{{- end }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* [root, settings]: how a MachineDeployment rolls, from the spelling of v1beta1 or v1beta2; YAML. */}}
{{- define "nodegroup.rollout" -}}
{{- $strategy := deepCopy (default dict (index . 1).rolloutStrategy) -}}
{{- $rolling := $strategy.rollingUpdate | default dict -}}
{{- $order := $rolling.deletePolicy -}}
{{- $remediation := $strategy.remediation -}}
{{- $_ := unset $rolling "deletePolicy" -}}
{{- $strategy = omit $strategy "remediation" -}}
{{- if eq (default "" $strategy.type) "OnDelete" -}}
  {{- $strategy = omit $strategy "rollingUpdate" -}}
{{- end -}}
{{- include "structure.prune" $strategy -}}
{{- with $strategy }}
rollout:
  strategy:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- with $order }}
deletion:
  order: {{ . }}
{{- end }}
{{- with $remediation }}
remediation:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
