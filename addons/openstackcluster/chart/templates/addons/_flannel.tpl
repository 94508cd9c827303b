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
{{- if $flannel.networkPolicies.enabled }}
---
{{ include "flannel.policies" (list .Values.kubeNetwork $network $flannel.networkPolicies) }}
{{- end }}
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

{{/*
[networks, flannel's, settings]: what has the packet filters of nodes obey NetworkPolicies. On a
new node pods can be faster than it. Its rules stay when it ends.
*/}}
{{- define "flannel.policies" -}}
{{- $policies := index . 2 -}}
{{- $args := list (printf "--ipv4=%t" (index . 1).EnableIPv4) (printf "--ipv6=%t" (default false (index . 1).EnableIPv6)) -}}
{{- $args = append $args (printf "--services=%s" (join "," (index . 0).services.cidrBlocks)) -}}
{{- with $policies.denyEgressCidrs -}}
  {{- $args = append $args (printf "--deny=%s" (join "," .)) -}}
{{- end -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: network-policies
  namespace: kube-flannel
  labels: {app: network-policies}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: network-policies
  labels: {app: network-policies}
rules:
  - {apiGroups: [""], resources: [nodes], verbs: [get]}
  - {apiGroups: [""], resources: [pods, namespaces], verbs: [list, watch]}
  - {apiGroups: [networking.k8s.io], resources: [networkpolicies], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: network-policies
  labels: {app: network-policies}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: network-policies}
subjects:
  - {kind: ServiceAccount, name: network-policies, namespace: kube-flannel}
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: network-policies
  namespace: kube-flannel
  labels: {app: network-policies}
spec:
  selector:
    matchLabels: {app: network-policies}
  updateStrategy:
    rollingUpdate: {maxUnavailable: 100%}
  template:
    metadata:
      labels: {app: network-policies}
    spec:
      hostNetwork: true
      nodeSelector: {kubernetes.io/os: linux}
      priorityClassName: system-node-critical
      serviceAccountName: network-policies
      tolerations:
        - {operator: Exists}
      containers:
        - name: network-policies
          image: {{ $policies.image.repository }}:{{ $policies.image.tag }}
          imagePullPolicy: IfNotPresent
          args: {{ mustToJson $args }}
          env:
            - name: NODE_NAME
              valueFrom: {fieldRef: {fieldPath: spec.nodeName} }
          livenessProbe:
            httpGet: {host: 127.0.0.1, port: 20244, path: /healthz}
            periodSeconds: 10
            failureThreshold: 6
          startupProbe:
            httpGet: {host: 127.0.0.1, port: 20244, path: /healthz}
            periodSeconds: 2
            failureThreshold: 300
          resources:
            requests: {cpu: 10m, memory: 32Mi}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL], add: [NET_ADMIN, NET_RAW]}
          volumeMounts:
            - {name: xtables-lock, mountPath: /run/xtables.lock}
      volumes:
        - {name: xtables-lock, hostPath: {path: /run/xtables.lock, type: FileOrCreate} }
{{- end -}}
