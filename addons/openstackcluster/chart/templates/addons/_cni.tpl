{{/* The network's MTU in bytes, or nothing where nobody knows it before there are nodes. */}}
{{- define "cni.networkMTU" -}}
{{- with .Values.clusterNetworking.internalNetwork.mtu -}}{{- int . -}}{{- end -}}
{{- end -}}

{{/*
What VXLAN leaves of it to pods: 50 bytes less, 70 where nodes have IPv6 (RFC 7348:
8 of VXLAN, 8 of UDP, 14 of Ethernet, 20 or 40 of IP).
*/}}
{{- define "cni.podMTU" -}}
{{- $overhead := contains ":" (join "," .Values.kubeNetwork.pods.cidrBlocks) | ternary 70 50 -}}
{{- with include "cni.networkMTU" . -}}{{- sub (int .) $overhead -}}{{- end -}}
{{- end -}}

{{/* Does Cilium do the work of kube-proxy? Says "true", or nothing. */}}
{{- define "cilium.replacesKubeProxy" -}}
{{- $addons := .Values.addons -}}
{{- if and $addons.enabled $addons.cni.enabled (eq $addons.cni.type "cilium") -}}
  {{- $values := $addons.cni.cilium.release.values | default dict -}}
  {{- $wanted := hasKey $values "kubeProxyReplacement" | ternary $values.kubeProxyReplacement true -}}
  {{- if eq (toString $wanted) "true" -}}true{{- end -}}
{{- end -}}
{{- end -}}
