{{/* Tokens of Keystone or access by Azimuth, asked of a webhook. YAML, or nothing. */}}
{{- define "controlplane.authWebhook" -}}
{{- if eq .Values.authWebhook "k8s-keystone-auth" -}}
{{- include "controlplane.keystoneAuth" . -}}
{{- else if eq .Values.authWebhook "azimuth-authorization-webhook" -}}
{{- include "controlplane.azimuthAuth" . -}}
{{- else if not (or (empty .Values.authWebhook) (eq .Values.authWebhook "none")) -}}
{{- fail (printf "authWebhook: %q is none of none, k8s-keystone-auth, azimuth-authorization-webhook" .Values.authWebhook) -}}
{{- end -}}
{{- end -}}

{{/*
k8s-keystone-auth runs on each control plane behind the loopback. Until it runs,
certificates and service accounts are recognised without it. The bundle's serves
with the API server's certificate, which is of the cluster's authority, and says
who somebody is: roles of Kubernetes say what they may. That of another chart has a
certificate of its own, and is asked both.
*/}}
{{- define "controlplane.keystoneAuth" -}}
{{- $own := include "keystoneauth.own" . -}}
clusterConfiguration:
  apiServer:
    extraArgs:
      authentication-token-webhook-config-file: /etc/kubernetes/webhook/keystone.yaml
      {{- if $own }}
      authentication-token-webhook-version: v1
      {{- else }}
      authorization-webhook-config-file: /etc/kubernetes/webhook/keystone.yaml
      authorization-mode: Node,RBAC,Webhook
      {{- end }}
    extraVolumes:
      {{- include "controlplane.webhookVolume" . | nindent 6 }}
files:
  - path: /etc/kubernetes/webhook/keystone.yaml
    owner: root:root
    permissions: "0600"
    content: |
      apiVersion: v1
      kind: Config
      preferences: {}
      clusters:
        - name: webhook
          cluster:
            {{- if $own }}
            certificate-authority: /etc/kubernetes/pki/ca.crt
            tls-server-name: kubernetes
            {{- else }}
            insecure-skip-tls-verify: true
            {{- end }}
            server: https://127.0.0.1:8443/webhook
      users:
        - name: webhook
      contexts:
        - name: webhook
          context: {cluster: webhook, user: webhook}
      current-context: webhook
{{- end -}}

{{- define "controlplane.webhookVolume" -}}
- name: webhook
  hostPath: /etc/kubernetes/webhook
  mountPath: /etc/kubernetes/webhook
  readOnly: true
  pathType: DirectoryOrCreate
{{- end -}}

{{/* The structured authorization configuration of Kubernetes, see its KEP 3221. */}}
{{- define "controlplane.azimuthAuth" -}}
{{- $webhook := .Values.azimuthAuthorizationWebhook -}}
{{- $server := required "azimuthAuthorizationWebhook.server is required" $webhook.server -}}
{{- if $webhook.tls.enabled -}}
  {{- $_ := required "azimuthAuthorizationWebhook.tls.cert is required" $webhook.tls.cert -}}
{{- end -}}
{{- $version := include "cluster.kubernetesVersion" (list . .Values.controlPlane) -}}
clusterConfiguration:
  apiServer:
    extraArgs:
      authorization-config: /etc/kubernetes/webhook/authorization.yaml
    extraVolumes:
      {{- include "controlplane.webhookVolume" . | nindent 6 }}
files:
  - path: /etc/kubernetes/webhook/authorization.yaml
    owner: root:root
    permissions: "0600"
    content: |
      apiVersion: apiserver.config.k8s.io/{{ semverCompare ">=1.32.0-0" $version | ternary "v1" "v1beta1" }}
      kind: AuthorizationConfiguration
      authorizers:
        - type: Webhook
          name: azimuth
          webhook:
            timeout: {{ $webhook.timeout }}
            authorizedTTL: 30s
            unauthorizedTTL: 30s
            subjectAccessReviewVersion: {{ $webhook.webhookVersion }}
            matchConditionSubjectAccessReviewVersion: v1
            failurePolicy: {{ $webhook.failurePolicy }}
            connectionInfo:
              type: KubeConfigFile
              kubeConfigFile: /etc/kubernetes/webhook/azimuth.yaml
            matchConditions:
              - expression: has(request.resourceAttributes)
              - expression: request.resourceAttributes.namespace in {{ $webhook.filteredNamespaces | mustToJson | replace "\"" "'" }}
              {{- range $webhook.extraPreFilters }}
              - expression: {{ quote . }}
              {{- end }}
        {{- range $webhook.additionalAuthorizers }}
        - type: {{ . }}
          name: {{ lower . }}
        {{- end }}
  - path: /etc/kubernetes/webhook/azimuth.yaml
    owner: root:root
    permissions: "0600"
    content: |
      apiVersion: v1
      kind: Config
      clusters:
        - name: webhook
          cluster:
            server: {{ $server }}
            {{- if $webhook.tls.enabled }}
            certificate-authority-data: {{ b64enc $webhook.tls.cert }}
            {{- end }}
      users:
        - name: webhook
      contexts:
        - name: webhook
          context: {cluster: webhook, user: webhook}
      current-context: webhook
{{- end -}}
