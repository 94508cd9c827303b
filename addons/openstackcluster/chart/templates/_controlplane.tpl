{{/* The kubeadm configuration of the control plane in v1beta2, JSON. Later parts win; lists are joined. */}}
{{- define "controlplane.kubeadmConfigSpec" -}}
{{- $given := deepCopy (default dict .Values.controlPlane.kubeadmConfigSpec) -}}
{{- $spec := dict -}}
{{- range list "controlplane.nodes" "controlplane.apiServer" "controlplane.apiServerResources" "controlplane.kubelet" "controlplane.etcd" "controlplane.etcdPriority" "controlplane.encryption" "controlplane.cni" "controlplane.admission" "kubeadm.host" -}}
  {{- include "kubeadm.add" (list $spec (include . $ | fromYaml)) -}}
{{- end -}}
{{- include "kubeadm.add" (list $spec (omit $given "kubeProxyConfiguration")) -}}
{{- if eq .Values.osDistro "flatcar" -}}
  {{- include "kubeadm.add" (list $spec (include "kubeadm.flatcar" . | fromYaml)) -}}
  {{- include "kubeadm.flatcarNames" $spec -}}
{{- end -}}
{{- range list "controlplane.authWebhook" "controlplane.kubeProxy" -}}
  {{- include "kubeadm.add" (list $spec (include . $ | fromYaml)) -}}
{{- end -}}
{{- include "kubeadm.convert" $spec -}}
{{- end -}}

{{- define "controlplane.nodes" -}}
{{- $registration := include "kubeadm.node" (list . .Values.controlPlane dict) | fromYaml -}}
initConfiguration:
  nodeRegistration: {{ mustToJson $registration }}
joinConfiguration:
  nodeRegistration: {{ mustToJson $registration }}
{{- end -}}

{{- define "controlplane.apiServer" -}}
clusterConfiguration:
  apiServer:
    extraArgs:
      v: {{ .Values.apiServer.logLevel | quote }}
      {{- with .Values.oidc }}
      {{- if .issuerUrl }}
      oidc-issuer-url: {{ quote .issuerUrl }}
      oidc-client-id: {{ required "oidc.clientId is required with oidc.issuerUrl" .clientId | quote }}
      oidc-username-claim: {{ quote .usernameClaim }}
      oidc-username-prefix: {{ quote .usernamePrefix }}
      oidc-groups-claim: {{ quote .groupsClaim }}
      oidc-groups-prefix: {{ quote .groupsPrefix }}
      oidc-signing-algs: {{ quote .signingAlgs }}
      {{- end }}
      {{- end }}
{{- end -}}

{{/* kubeadm patches the static pod with it, also when it upgrades. */}}
{{- define "controlplane.apiServerResources" -}}
{{- $resources := .Values.apiServer.resources | default dict -}}
{{- if or $resources.requests $resources.limits -}}
{{- $container := dict "name" "kube-apiserver" "resources" $resources -}}
{{- $patch := dict "spec" (dict "containers" (list $container)) -}}
{{- include "kubeadm.patch" (list .Values.controlPlane.kubeadmConfigSpec "kube-apiserver" $patch "initConfiguration" "joinConfiguration") -}}
{{- end -}}
{{- end -}}

{{- define "controlplane.kubelet" -}}
{{- include "kubeadm.kubelet" (list . .Values.controlPlane.kubeadmConfigSpec "initConfiguration" "joinConfiguration") -}}
{{- end -}}

{{- define "controlplane.etcd" -}}
clusterConfiguration:
  etcd:
    local:
      dataDir: {{ .Values.etcd.dataDir }}
      extraArgs: {{ mustToJson .Values.etcd.extraArgs }}
{{- if .Values.etcd.blockDevice }}
{{- if ne .Values.osDistro "flatcar" }}
bootCommands:
  - {{ include "controlplane.deviceLinks" . | quote }}
{{- end }}
{{- $ignored := printf "DirAvailable-%s" (replace "/" "-" .Values.etcd.dataDir) }}
initConfiguration:
  nodeRegistration:
    ignorePreflightErrors: [{{ $ignored }}]
joinConfiguration:
  nodeRegistration:
    ignorePreflightErrors: [{{ $ignored }}]
diskSetup:
  filesystems:
    - device: /dev/disk/openstack/by-tag/etcd
      filesystem: ext4
      label: etcd_disk
mounts:
  - [LABEL=etcd_disk, {{ .Values.etcd.dataDir }}]
{{- end }}
{{- end -}}

{{/*
The kubelet starts etcd anew whenever it ends, and nothing keeps a priority then. So a
timer sets it again. renice sees threads, not processes: each is named.
*/}}
{{- define "controlplane.etcdPriority" -}}
{{- if not (kindIs "invalid" .Values.etcd.nice) -}}
files:
  - path: /etc/systemd/system/etcd-priority.service
    owner: root:root
    permissions: "0644"
    content: |
      [Unit]
      Description=Priority of etcd
      [Service]
      Type=oneshot
      ExecStart=/bin/sh -c 'for etcd in $$(grep -lx etcd /proc/[0-9]*/comm); do tasks=$$(ls $$(dirname $$etcd)/task); renice -n {{ int .Values.etcd.nice }} -p $$tasks && ionice -c 2 -n 0 -p $$tasks; done'
  - path: /etc/systemd/system/etcd-priority.timer
    owner: root:root
    permissions: "0644"
    content: |
      [Unit]
      Description=Priority of etcd, also after it was restarted
      [Timer]
      OnActiveSec=1s
      OnUnitInactiveSec=10s
      AccuracySec=1s
      [Install]
      WantedBy=timers.target
preKubeadmCommands:
  - systemctl daemon-reload
  - systemctl enable --now etcd-priority.timer
{{- end -}}
{{- end -}}

{{/*
Links to devices by the tags that CAPO gave them, where the image has no rules of
udev for that: cloud-init knows the metadata, which tell a device's serial number,
or its place. Before disks are set up, so it is a boot command.
*/}}
{{- define "controlplane.deviceLinks" -}}
python3 -c "
import glob, json, os
data = json.load(open('/run/cloud-init/instance-data.json'))
for device in data.get('ds', dict()).get('meta_data', dict()).get('devices') or []:
  serial, address = device.get('serial'), device.get('address')
  ids = ['by-id/*' + serial, 'by-id/*' + serial[:20]] if serial else []
  ids += ['by-path/*' + address] if address else []
  found = [path for id in ids for path in sorted(glob.glob('/dev/disk/' + id))]
  for tag in device.get('tags') or []:
    link = '/dev/disk/openstack/by-tag/' + tag
    if found and not os.path.exists(link):
      os.makedirs(os.path.dirname(link), exist_ok=True)
      os.symlink(os.path.realpath(found[0]), link)
"
{{- end -}}

{{/* The first phase of kube-proxy is left out where Cilium does its work. */}}
{{- define "controlplane.cni" -}}
{{- if include "cilium.replacesKubeProxy" . -}}
initConfiguration:
  skipPhases: [addon/kube-proxy]
{{- end -}}
{{- end -}}

{{- define "controlplane.admissionConfiguration" -}}
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
{{- range $name, $configuration := .Values.apiServer.admissionConfiguration }}
  - name: {{ $name }}
    configuration:
      {{- toYaml $configuration | nindent 6 }}
{{- else }} []
{{- end }}
{{- end -}}

{{- define "controlplane.admission" -}}
clusterConfiguration:
  apiServer:
    extraArgs:
      admission-control-config-file: /etc/kubernetes/admission/configuration.yaml
    extraVolumes:
      - name: admission-configuration
        hostPath: /etc/kubernetes/admission
        mountPath: /etc/kubernetes/admission
        readOnly: true
        pathType: DirectoryOrCreate
files:
  - path: /etc/kubernetes/admission/configuration.yaml
    owner: root:root
    permissions: "0600"
    contentFrom:
      secret:
        name: {{ include "cluster.componentName" (list . "admission-configuration") }}
        key: admission-configuration.yaml
  # The control plane is made anew when the configuration changes.
  - path: /etc/kubernetes/admission/checksum
    owner: root:root
    permissions: "0600"
    content: {{ include "structure.hash" .Values.apiServer.admissionConfiguration | quote }}
{{- end -}}

{{/* kube-proxy's configuration is read by kubeadm init only, which makes a ConfigMap of it. */}}
{{- define "controlplane.kubeProxy" -}}
{{- $configuration := (default dict .Values.controlPlane.kubeadmConfigSpec).kubeProxyConfiguration -}}
{{- if and $configuration (not (include "cilium.replacesKubeProxy" .)) -}}
{{- $kubeadm := eq .Values.osDistro "flatcar" | ternary "/etc/kubeadm.yml" "/run/kubeadm/kubeadm.yaml" -}}
{{- $document := merge (dict "apiVersion" "kubeproxy.config.k8s.io/v1alpha1" "kind" "KubeProxyConfiguration") (deepCopy $configuration) -}}
files:
  - path: /etc/kube-proxy-configuration.yaml
    owner: root:root
    permissions: "0644"
    content: {{ printf "---\n%s\n" (toYaml $document) | quote }}
preKubeadmCommands:
  - if grep -qs InitConfiguration {{ $kubeadm }}; then cat /etc/kube-proxy-configuration.yaml >> {{ $kubeadm }}; fi
{{- end -}}
{{- end -}}

{{/* The key is put in on the node, so that nothing has to be looked up here. identity reads what was written before. */}}
{{- define "controlplane.encryption" -}}
{{- with .Values.etcd.encryption -}}
{{- if .enabled -}}
clusterConfiguration:
  apiServer:
    extraArgs:
      encryption-provider-config: /etc/kubernetes/encryption/configuration.yaml
    extraVolumes:
      - name: encryption-configuration
        hostPath: /etc/kubernetes/encryption
        mountPath: /etc/kubernetes/encryption
        readOnly: true
        pathType: DirectoryOrCreate
files:
  - path: /etc/kubernetes/encryption/key
    owner: root:root
    permissions: "0600"
    contentFrom:
      secret:
        name: {{ .secretName | default (include "cluster.componentName" (list $ "etcd-key")) }}
        key: {{ .secretKey | default "key" }}
  - path: /etc/kubernetes/encryption/configuration.yaml
    owner: root:root
    permissions: "0600"
    content: |
      apiVersion: apiserver.config.k8s.io/v1
      kind: EncryptionConfiguration
      resources:
        - resources: {{ mustToJson .resources }}
          providers:
            - {{ .provider }}:
                keys:
                  - name: key1
                    secret: KEY
            - identity: {}
preKubeadmCommands:
  # A key in base64 ends in "="; any other is taken as the bytes themselves.
  - >-
    key=$(cat /etc/kubernetes/encryption/key);
    case "$key" in *=) ;; *) key=$(printf %s "$key" | base64 -w0) ;; esac;
    sed -i "s|KEY|$key|" /etc/kubernetes/encryption/configuration.yaml;
    rm /etc/kubernetes/encryption/key
{{- end -}}
{{- end -}}
{{- end -}}
