{{- define "calico.values" -}}
# The operator has to run where nodes are not ready yet.
nodeSelector:
  node-role.kubernetes.io/control-plane: ""
installation:
  nodeMetricsPort: 9091
  typhaMetricsPort: 9093
  calicoNetwork:
    # Port security of OpenStack lets VXLAN pass, and routes of its own not.
    bgp: Disabled
    {{- with include "cni.podMTU" . }}
    mtu: {{ . }}
    {{- end }}
    nodeAddressAutodetectionV4:
      kubernetes: NodeInternalIP
    ipPools:
      {{- range .Values.kubeNetwork.pods.cidrBlocks }}
      - cidr: {{ . | quote }}
        encapsulation: VXLAN
        natOutgoing: Enabled
        blockSize: {{ contains ":" . | ternary 122 26 }}
        nodeSelector: all()
      {{- end }}
{{- end -}}

{{/* Pods are kept from the metadata service, whose user-data holds credentials. */}}
{{- define "calico.policies" -}}
apiVersion: projectcalico.org/v3
kind: GlobalNetworkPolicy
metadata:
  name: deny-metadata-service
spec:
  order: {{ .denyPriority }}
  namespaceSelector: {{ include "addon.protect" .denyNamespaceSelector | quote }}
  types: [Egress]
  egress:
    {{- range list .denyEgressCidrs .denyv6EgressCidrs }}
    {{- if . }}
    - action: Deny
      destination:
        nets: {{ mustToJson . }}
    {{- end }}
    {{- end }}
---
# Who is selected by a policy may do only what one allows.
apiVersion: projectcalico.org/v3
kind: GlobalNetworkPolicy
metadata:
  name: allow-egress
spec:
  order: {{ .allowPriority }}
  namespaceSelector: {{ include "addon.protect" .denyNamespaceSelector | quote }}
  types: [Egress]
  egress:
    {{- range list .allowEgressCidrs .allowv6EgressCidrs }}
    {{- if . }}
    - action: Allow
      destination:
        nets: {{ mustToJson . }}
    {{- end }}
    {{- end }}
{{- end -}}

{{- define "calico.monitoring" -}}
{{- range $name, $port := dict "calico-node" 9091 "calico-typha" 9093 }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}-metrics
  namespace: calico-system
  labels: {k8s-app: {{ $name }} }
spec:
  clusterIP: None
  selector: {k8s-app: {{ $name }} }
  ports:
    - {name: metrics, port: {{ $port }}, targetPort: {{ $port }} }
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ $name }}
  namespace: calico-system
spec:
  selector:
    matchLabels: {k8s-app: {{ $name }} }
  endpoints:
    - {port: metrics}
{{- end }}
{{- end -}}
