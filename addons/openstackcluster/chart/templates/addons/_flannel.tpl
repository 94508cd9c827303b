{{/*
flannel's own manifest with the cluster's networks: the daemon, and what it may
do. Its namespace is part of it, for the label that lets its pods be privileged.
*/}}
{{- define "flannel.manifests" -}}
{{- $flannel := .Values.addons.cni.flannel -}}
{{- $network := dict "EnableIPv4" false "EnableNFTables" (default false $flannel.enableNFTables) "Backend" $flannel.backend -}}
{{- /* The network's MTU: flannel takes the 50 bytes of VXLAN from it; host-gw has none. */ -}}
{{- if and (include "cni.networkMTU" .) (eq (toString $flannel.backend.Type) "vxlan") (not $flannel.backend.MTU) -}}
  {{- $_ := set $network "Backend" (merge (dict "MTU" (include "cni.networkMTU" . | int)) $flannel.backend) -}}
{{- end -}}
{{- range .Values.kubeNetwork.pods.cidrBlocks -}}
  {{- if contains ":" . -}}
    {{- $_ := set $network "EnableIPv6" true -}}
    {{- $_ := set $network "IPv6Network" . -}}
  {{- else -}}
    {{- $_ := set $network "EnableIPv4" true -}}
    {{- $_ := set $network "Network" . -}}
  {{- end -}}
{{- end -}}
apiVersion: v1
kind: Namespace
metadata:
  name: kube-flannel
  labels:
    k8s-app: flannel
    pod-security.kubernetes.io/enforce: privileged
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: flannel
  namespace: kube-flannel
  labels: {k8s-app: flannel}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: flannel
  labels: {k8s-app: flannel}
rules:
  - {apiGroups: [""], resources: [pods], verbs: [get]}
  - {apiGroups: [""], resources: [nodes], verbs: [get, list, watch]}
  - {apiGroups: [""], resources: [nodes/status], verbs: [patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: flannel
  labels: {k8s-app: flannel}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: flannel}
subjects:
  - {kind: ServiceAccount, name: flannel, namespace: kube-flannel}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: kube-flannel-cfg
  namespace: kube-flannel
  labels: {tier: node, k8s-app: flannel, app: flannel}
data:
  cni-conf.json: |
    {"name": "cbr0", "cniVersion": "0.3.1", "plugins": [
      {"type": "flannel", "delegate": {"hairpinMode": true, "isDefaultGateway": true} },
      {"type": "portmap", "capabilities": {"portMappings": true} }]}
  net-conf.json: {{ mustToJson $network | squote }}
---
{{ include "flannel.daemon" (list $flannel (mustToJson $network | sha256sum | trunc 8)) }}
{{- end -}}

{{- define "flannel.daemon" -}}
{{- $flannel := index . 0 -}}
{{- $daemon := printf "%s:%s" $flannel.image.repository $flannel.image.tag -}}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: kube-flannel-ds
  namespace: kube-flannel
  labels: {tier: node, k8s-app: flannel, app: flannel}
spec:
  selector:
    matchLabels: {app: flannel}
  template:
    metadata:
      labels: {tier: node, app: flannel}
      annotations:
        checksum/config: {{ index . 1 | quote }}
    spec:
      hostNetwork: true
      nodeSelector: {kubernetes.io/os: linux}
      priorityClassName: system-node-critical
      serviceAccountName: flannel
      tolerations:
        - {operator: Exists, effect: NoSchedule}
      initContainers:
        - name: install-cni-plugin
          image: {{ $flannel.pluginImage.repository }}:{{ $flannel.pluginImage.tag }}
          imagePullPolicy: IfNotPresent
          command: [cp, -f, /flannel, /opt/cni/bin/flannel]
          volumeMounts:
            - {name: cni-plugin, mountPath: /opt/cni/bin}
        - name: install-cni
          image: {{ $daemon }}
          imagePullPolicy: IfNotPresent
          command: [cp, -f, /etc/kube-flannel/cni-conf.json, /etc/cni/net.d/10-flannel.conflist]
          volumeMounts:
            - {name: cni, mountPath: /etc/cni/net.d}
            - {name: flannel-cfg, mountPath: /etc/kube-flannel}
      containers:
        - name: kube-flannel
          image: {{ $daemon }}
          imagePullPolicy: IfNotPresent
          command: [/opt/bin/flanneld, --ip-masq, --kube-subnet-mgr]
          resources:
            requests: {cpu: 100m, memory: 50Mi}
          securityContext:
            privileged: false
            capabilities: {add: [NET_ADMIN, NET_RAW]}
          env:
            - name: POD_NAME
              valueFrom: {fieldRef: {fieldPath: metadata.name} }
            - name: POD_NAMESPACE
              valueFrom: {fieldRef: {fieldPath: metadata.namespace} }
            - {name: EVENT_QUEUE_DEPTH, value: "5000"}
            - {name: CONT_WHEN_CACHE_NOT_READY, value: "false"}
          volumeMounts:
            - {name: run, mountPath: /run/flannel}
            - {name: flannel-cfg, mountPath: /etc/kube-flannel}
            - {name: xtables-lock, mountPath: /run/xtables.lock}
      volumes:
        - {name: run, hostPath: {path: /run/flannel} }
        - {name: cni-plugin, hostPath: {path: /opt/cni/bin} }
        - {name: cni, hostPath: {path: /etc/cni/net.d} }
        - {name: flannel-cfg, configMap: {name: kube-flannel-cfg} }
        - {name: xtables-lock, hostPath: {path: /run/xtables.lock, type: FileOrCreate} }
{{- end -}}
