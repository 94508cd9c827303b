{{/* Does a group scale by itself? Says "true", or nothing. */}}
{{- define "autoscaler.needed" -}}
{{- $needed := false -}}
{{- range .Values.nodeGroups -}}
  {{- if (include "nodegroup.settings" (list $ .) | mustFromJson).autoscale -}}
    {{- $needed = true -}}
  {{- end -}}
{{- end -}}
{{- if $needed -}}true{{- end -}}
{{- end -}}

{{/* The autoscaler's minor version is to be that of Kubernetes. */}}
{{- define "autoscaler.image" -}}
{{- $image := .Values.autoscaler.image -}}
{{- $version := semver (include "cluster.kubernetesVersion" (list . .Values.controlPlane)) -}}
{{- printf "%s:%s" $image.repository ($image.tag | default (printf "v%d.%d.0" $version.Major $version.Minor)) -}}
{{- end -}}

{{- define "autoscaler.deployment" -}}
{{- $autoscaler := .Values.autoscaler -}}
{{- $name := include "cluster.componentName" (list . "autoscaler") -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  labels:
    {{- include "cluster.labels" (list . "autoscaler") | nindent 4 }}
spec:
  replicas: 1
  strategy:
    type: Recreate
  selector:
    matchLabels:
      {{- include "cluster.selectorLabels" (list . "autoscaler") | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "cluster.selectorLabels" (list . "autoscaler") | nindent 8 }}
    spec:
      serviceAccountName: {{ $name }}
      securityContext:
        {{- toYaml $autoscaler.podSecurityContext | nindent 8 }}
      {{- with $autoscaler.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $autoscaler.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $autoscaler.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $autoscaler.topologySpreadConstraints }}
      topologySpreadConstraints:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $autoscaler.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: autoscaler
          image: {{ include "autoscaler.image" . }}
          imagePullPolicy: {{ $autoscaler.image.pullPolicy }}
          securityContext:
            {{- toYaml $autoscaler.securityContext | nindent 12 }}
          command:
            - /cluster-autoscaler
            - --cloud-provider=clusterapi
            - --kubeconfig=/mnt/kubeconfig/value
            - --clusterapi-cloud-config-authoritative
            - --node-group-auto-discovery=clusterapi:namespace={{ .Release.Namespace }},clusterName={{ include "cluster.name" . }}
            {{- range $key, $value := $autoscaler.extraArgs }}
            {{- if not (kindIs "invalid" $value) }}
            - {{ printf "--%s=%s" $key (include "structure.text" $value) | quote }}
            {{- end }}
            {{- end }}
          {{- with $autoscaler.resources }}
          resources:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          volumeMounts:
            - name: kubeconfig
              mountPath: /mnt/kubeconfig
              readOnly: true
      volumes:
        # The pod waits for the Secret, which comes with the control plane.
        - name: kubeconfig
          secret:
            secretName: {{ include "cluster.name" . }}-kubeconfig
            defaultMode: 0444
{{- end -}}
