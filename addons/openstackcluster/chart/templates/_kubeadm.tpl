{{/*
Parts of a KubeadmConfigSpec are joined in the spelling of v1beta1, where
arguments are maps, so that later parts win argument by argument. kubeadm.convert
then makes v1beta2 of it, which is what users may write as well.
*/}}

{{/* The places of arguments in a spec. */}}
{{- define "kubeadm.argumentPaths" -}}
- [clusterConfiguration, apiServer, extraArgs]
- [clusterConfiguration, controllerManager, extraArgs]
- [clusterConfiguration, scheduler, extraArgs]
- [clusterConfiguration, etcd, local, extraArgs]
- [initConfiguration, nodeRegistration, kubeletExtraArgs]
- [joinConfiguration, nodeRegistration, kubeletExtraArgs]
{{- end -}}

{{/* [spec, path]: what holds the last key of the path, in a dict under "holder". */}}
{{- define "kubeadm.argumentsToMap" -}}
{{- $map := dict -}}
{{- range . -}}
  {{- if hasKey $map .name -}}
    {{- $there := get $map .name -}}
    {{- $_ := set $map .name (concat (kindIs "slice" $there | ternary $there (list $there)) (list .value)) -}}
  {{- else -}}
    {{- $_ := set $map .name .value -}}
  {{- end -}}
{{- end -}}
{{- mustToJson $map -}}
{{- end -}}

{{- define "kubeadm.argumentsToList" -}}
{{- $list := list -}}
{{- range $name, $value := . -}}
  {{- if kindIs "slice" $value -}}
    {{- range $value -}}
      {{- $list = append $list (dict "name" $name "value" (include "structure.text" .)) -}}
    {{- end -}}
  {{- else if not (kindIs "invalid" $value) -}}
    {{- $list = append $list (dict "name" $name "value" (include "structure.text" $value)) -}}
  {{- end -}}
{{- end -}}
{{- mustToJson $list -}}
{{- end -}}

{{/* [spec, kind]: in a spec, makes all arguments of that kind ("slice" or "map") the other kind. */}}
{{- define "kubeadm.turnArguments" -}}
{{- $spec := index . 0 -}}
{{- $kind := index . 1 -}}
{{- range include "kubeadm.argumentPaths" . | fromYamlArray -}}
  {{- $holder := $spec -}}
  {{- range initial . -}}
    {{- $holder = get $holder . -}}
    {{- if not (kindIs "map" $holder) -}}{{- $holder = dict -}}{{- end -}}
  {{- end -}}
  {{- $arguments := get $holder (last .) -}}
  {{- if and (eq $kind "slice") (kindIs "slice" $arguments) -}}
    {{- $_ := set $holder (last .) (include "kubeadm.argumentsToMap" $arguments | mustFromJson) -}}
  {{- else if and (eq $kind "map") (kindIs "map" $arguments) -}}
    {{- $_ := set $holder (last .) (include "kubeadm.argumentsToList" $arguments | mustFromJson) -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/* [spec, part]: joins a part to a spec, in either spelling. */}}
{{- define "kubeadm.add" -}}
{{- $part := deepCopy (default dict (index . 1)) -}}
{{- include "kubeadm.turnArguments" (list $part "slice") -}}
{{- include "structure.concat" (list (index . 0) $part) -}}
{{- end -}}

{{/* A joined spec in the spelling of v1beta2, JSON. */}}
{{- define "kubeadm.convert" -}}
{{- $spec := deepCopy . -}}
{{- include "kubeadm.turnArguments" (list $spec "map") -}}
{{- $cluster := $spec.clusterConfiguration | default dict -}}
{{- $api := $cluster.apiServer | default dict -}}
{{- if $api.timeoutForControlPlane -}}
  {{- $timeouts := dict "timeouts" (dict "controlPlaneComponentHealthCheckSeconds" (int64 (include "structure.seconds" $api.timeoutForControlPlane))) -}}
  {{- include "structure.concat" (list $spec (deepCopy (dict "initConfiguration" $timeouts "joinConfiguration" $timeouts))) -}}
  {{- $_ := unset $api "timeoutForControlPlane" -}}
{{- end -}}
{{- /* Gone in v1beta2: Cluster API takes them from the Cluster, or never used them. */ -}}
{{- range list "apiVersion" "kind" "networking" "kubernetesVersion" "clusterName" "useHyperKubeImage" -}}
  {{- $_ := unset $cluster . -}}
{{- end -}}
{{- range list "initConfiguration" "joinConfiguration" -}}
  {{- range $gone := list "apiVersion" "kind" -}}
    {{- $_ := unset (default dict (get $spec .)) $gone -}}
  {{- end -}}
{{- end -}}
{{- range list "useExperimentalRetryJoin" "kubeProxyConfiguration" -}}
  {{- $_ := unset $spec . -}}
{{- end -}}
{{- include "structure.prune" $spec -}}
{{- mustToJson $spec -}}
{{- end -}}

{{/* A map of labels as the kubelet's argument wants it. */}}
{{- define "kubeadm.labels" -}}
{{- $pairs := list -}}
{{- range $key, $value := . -}}
  {{- if not (kindIs "invalid" $value) -}}
    {{- $pairs = append $pairs (printf "%s=%s" $key (include "structure.text" $value)) -}}
  {{- end -}}
{{- end -}}
{{- join "," $pairs -}}
{{- end -}}

{{/* [root, machine settings, more labels]: how a node registers, for control planes and workers; YAML. */}}
{{- define "kubeadm.node" -}}
{{- $machine := index . 1 -}}
{{- $labels := deepCopy (default dict $machine.nodeLabels) -}}
{{- include "structure.merge" (list $labels (index . 2)) -}}
{{- $registration := dict -}}
{{- if $labels -}}
  {{- $_ := set $registration "kubeletExtraArgs" (dict "node-labels" (include "kubeadm.labels" $labels)) -}}
{{- end -}}
{{- if kindIs "slice" $machine.nodeTaints -}}
  {{- $_ := set $registration "taints" $machine.nodeTaints -}}
{{- end -}}
{{- toYaml $registration -}}
{{- end -}}

{{/*
[given spec, target, patch, configuration…]: has kubeadm patch a target wherever one of the
configurations is used, in the folder that the given spec names; YAML.
*/}}
{{- define "kubeadm.patch" -}}
{{- $given := default dict (index . 0) -}}
{{- $directory := "/etc/kubernetes/patches" -}}
{{- $directories := list -}}
{{- $spec := dict -}}
{{- range slice . 3 -}}
  {{- $directory = (default dict (default dict (get $given .)).patches).directory | default $directory -}}
  {{- $directories = append $directories $directory -}}
  {{- $_ := set $spec . (dict "patches" (dict "directory" $directory)) -}}
{{- end -}}
{{- $files := list -}}
{{- $content := index . 2 | toYaml | printf "%s\n" -}}
{{- range uniq $directories -}}
  {{- $path := printf "%s/%s0+strategic.yaml" . (index $ 1) -}}
  {{- $files = append $files (dict "path" $path "owner" "root:root" "permissions" "0644" "content" $content) -}}
{{- end -}}
{{- $_ := set $spec "files" $files -}}
{{- toYaml $spec -}}
{{- end -}}

{{/* Whether kubelets serve with certificates of the cluster's authority. */}}
{{- define "kubeadm.servingCertificates" -}}
{{- if (default dict .Values.kubeletServingCertificates).enabled -}}yes{{- end -}}
{{- end -}}

{{/*
[root, given spec, configuration…]: the kubelet asks its cluster for a serving certificate.
A patch and no argument: the argument is deprecated. YAML, or nothing.
*/}}
{{- define "kubeadm.kubelet" -}}
{{- if include "kubeadm.servingCertificates" (index . 0) -}}
{{- $patch := dict "apiVersion" "kubelet.config.k8s.io/v1beta1" "kind" "KubeletConfiguration" "serverTLSBootstrap" true -}}
{{- include "kubeadm.patch" (concat (list (index . 1) "kubeletconfiguration" $patch) (slice . 2)) -}}
{{- end -}}
{{- end -}}

{{/* The spec that all nodes of a cluster share: trust, proxy, registries, packages. Flatcar's differs. YAML. */}}
{{- define "kubeadm.host" -}}
{{- $flatcar := eq .Values.osDistro "flatcar" -}}
{{- $spec := dict "files" list "preKubeadmCommands" list -}}
{{- include "structure.concat" (list $spec (include "kubeadm.proxy" . | fromYaml)) -}}
{{- include "structure.concat" (list $spec (include "kubeadm.trustedCAs" . | fromYaml)) -}}
{{- include "structure.concat" (list $spec (include "containerd.files" . | fromYaml)) -}}
{{- $restart := or .Values.trustedCAs (include "kubeadm.proxySettings" .) -}}
{{- if $restart -}}
  {{- include "structure.concat" (list $spec (dict "preKubeadmCommands" (list "systemctl restart containerd"))) -}}
{{- end -}}
{{- if and .Values.additionalPackages (not $flatcar) -}}
  {{- include "structure.concat" (list $spec (dict "preKubeadmCommands" (list "apt update -y" (printf "apt install -y %s" (join " " .Values.additionalPackages))))) -}}
{{- end -}}
{{- toYaml $spec -}}
{{- end -}}

{{- define "kubeadm.trustedCAs" -}}
{{- if .Values.trustedCAs -}}
files:
{{- range $name, $certificate := .Values.trustedCAs }}
  - path: {{ eq $.Values.osDistro "flatcar" | ternary (printf "/etc/ssl/certs/%s.pem" $name) (printf "/usr/local/share/ca-certificates/%s.crt" $name) | quote }}
    owner: root:root
    permissions: "0644"
    content: {{ quote $certificate }}
{{- end }}
preKubeadmCommands:
  - update-ca-certificates
{{- end -}}
{{- end -}}

{{/*
The lines of a proxy's environment, or nothing. It is for containerd and apt:
the kubelet speaks to the API server only, whose address must not be proxied.
*/}}
{{- define "kubeadm.proxySettings" -}}
{{- $proxy := .Values.proxy | default dict -}}
{{- if or $proxy.httpProxy $proxy.httpsProxy -}}
{{- $direct := concat (list "localhost" "127.0.0.1" "127.0.0.0/8" "169.254.169.254" "169.254.169.254/32" "fd00:ec2::254/128"
      ".svc" ".svc.cluster" (printf ".svc.%s" .Values.kubeNetwork.serviceDomain) (printf ".%s" .Values.kubeNetwork.serviceDomain)) .Values.kubeNetwork.pods.cidrBlocks .Values.kubeNetwork.services.cidrBlocks -}}
{{- with .Values.clusterNetworking.internalNetwork.nodeCidr -}}{{- $direct = append $direct . -}}{{- end -}}
{{- $direct = concat $direct (default list $proxy.noProxy) | uniq -}}
{{- with $proxy.httpProxy }}HTTP_PROXY={{ . }}
{{ end }}
{{- with $proxy.httpsProxy }}HTTPS_PROXY={{ . }}
{{ end -}}
NO_PROXY={{ join "," $direct }}
{{- end -}}
{{- end -}}

{{- define "kubeadm.proxy" -}}
{{- $settings := include "kubeadm.proxySettings" . -}}
{{- if $settings -}}
files:
  - path: /etc/containerd/proxy.env
    owner: root:root
    permissions: "0644"
    content: {{ printf "%s\n" $settings | quote }}
  - path: /etc/systemd/system/containerd.service.d/50-proxy.conf
    owner: root:root
    permissions: "0644"
    content: "[Service]\nEnvironmentFile=/etc/containerd/proxy.env\n"
{{- if .Values.additionalPackages }}
  - path: /etc/apt/apt.conf.d/50-proxy
    owner: root:root
    permissions: "0644"
    content: {{ printf "%s%s" (.Values.proxy.httpProxy | empty | ternary "" (printf "Acquire::http::Proxy %q;\n" .Values.proxy.httpProxy)) (.Values.proxy.httpsProxy | empty | ternary "" (printf "Acquire::https::Proxy %q;\n" .Values.proxy.httpsProxy)) | quote }}
{{- end }}
preKubeadmCommands:
  - systemctl daemon-reload
{{- end -}}
{{- end -}}

{{/* What Flatcar needs to be started by Ignition; YAML. */}}
{{- define "kubeadm.flatcar" -}}
format: ignition
ignition:
  containerLinuxConfig:
    additionalConfig: |
      systemd:
        units:
          - name: coreos-metadata-sshkeys@.service
            enabled: true
          - name: kubeadm.service
            enabled: true
            dropins:
              - name: 10-metadata.conf
                contents: |
                  [Unit]
                  # The name of the node comes from the metadata.
                  Requires=containerd.service coreos-metadata.service
                  After=containerd.service coreos-metadata.service
                  [Service]
                  EnvironmentFile=/run/metadata/flatcar
preKubeadmCommands:
  - export COREOS_OPENSTACK_HOSTNAME=${COREOS_OPENSTACK_HOSTNAME%%.*}
  - envsubst < /etc/kubeadm.yml > /etc/kubeadm.yml.tmp
  - mv /etc/kubeadm.yml.tmp /etc/kubeadm.yml
{{- end -}}

{{/* [spec]: on Flatcar nothing renders cloud-init's name of the host. */}}
{{- define "kubeadm.flatcarNames" -}}
{{- range list "initConfiguration" "joinConfiguration" -}}
  {{- $registration := (default dict (get $ .)).nodeRegistration -}}
  {{- if kindIs "map" $registration -}}
    {{- if contains "local_hostname" (toString $registration.name) -}}
      {{- $_ := set $registration "name" "${COREOS_OPENSTACK_HOSTNAME}" -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- end -}}
