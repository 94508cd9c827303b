{{- /*
What all Deployments have alike. Each takes a dict of root, name (of the objects),
set (of `slipway serve controllers --only`) and more of them, values, args, and the
bounds of its folder for temporary files. `machine` is where it has the root of its node, if
it needs that. `mounts` are Secrets and `configs` ConfigMaps by the
folder where they are; `api` says that it is no set of controllers but an API, on `port`;
`unprivileged` that it has nothing to do with Kubernetes, and no metrics.
*/ -}}
{{- define "labels" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/component: {{ .set }}
app.kubernetes.io/part-of: slipway
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
{{- end }}

{{- define "selector" -}}
app.kubernetes.io/name: {{ .name }}
{{- end }}

{{- /* Whether this set looks at the fence; the API never does. */ -}}
{{- define "fenced" -}}
{{- $fence := .root.Values.fence -}}
{{- if and $fence.environment (not .api) (or (not $fence.only) (eq $fence.only .set)) }}yes{{ end -}}
{{- end }}

{{- /* Whether this is a set of controllers that nobody stands by for: it holds no lease. */ -}}
{{- define "alone" -}}
{{- if and .root.Values.alone (not .api) }}yes{{ end -}}
{{- end }}

{{- define "metadata" -}}
name: {{ .name }}
namespace: {{ .values.namespace }}
labels: {{- include "labels" . | nindent 2 }}
{{- end }}

{{- define "namespace" }}
apiVersion: v1
kind: Namespace
metadata:
  name: {{ .values.namespace }}
  labels:
    {{- include "labels" . | nindent 4 }}
    pod-security.kubernetes.io/enforce: {{ if .machine }}privileged{{ else }}restricted{{ end }}
{{- end }}

{{- define "identity" }}
apiVersion: v1
kind: ServiceAccount
metadata: {{- include "metadata" . | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .name }}
  labels: {{- include "labels" . | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ .name }}}
subjects:
  - {kind: ServiceAccount, name: {{ .name }}, namespace: {{ .values.namespace }}}
---
# Leader election, in its own namespace only.
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{- include "metadata" . | nindent 2 }}
rules:
  - {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
  - {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [slipway-{{ .set }}{{ range .more }}, slipway-{{ . }}{{ end }}], verbs: [get, update, patch]}
  - {apiGroups: ["", events.k8s.io], resources: [events], verbs: [create, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{- include "metadata" . | nindent 2 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .name }}}
subjects:
  - {kind: ServiceAccount, name: {{ .name }}, namespace: {{ .values.namespace }}}
{{- end }}

{{- define "trust" }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .name }}-trust
  namespace: {{ .values.namespace }}
  labels: {{- include "labels" . | nindent 4 }}
data:
  ca.crt: {{ .root.Values.trustBundle | quote }}
{{- end }}

{{- /* The fence: the login that reads the generation in the cloud, and the right to read and note that of this cluster. */ -}}
{{- define "fence" }}
apiVersion: v1
kind: Secret
metadata:
  name: {{ .name }}-fence
  namespace: {{ .values.namespace }}
  labels: {{- include "labels" . | nindent 4 }}
data:
  clouds.yaml: {{ .root.Values.fence.clouds | b64enc }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name }}-fence
  namespace: kube-system
  labels: {{- include "labels" . | nindent 4 }}
rules:
  - {apiGroups: [""], resources: [configmaps], resourceNames: [slipway-recovery], verbs: [get, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name }}-fence
  namespace: kube-system
  labels: {{- include "labels" . | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .name }}-fence}
subjects:
  - {kind: ServiceAccount, name: {{ .name }}, namespace: {{ .values.namespace }}}
{{- end }}

{{- /*
The certificate of an API. Without one of the user's, an authority of its own makes it, so
that clients have one certificate to trust for ten years, and the API a new one of that
every two months. `hostnames`, `address` and `tls` are the user's.
*/ -}}
{{- define "certificate" }}
{{- $space := .values.namespace }}
{{- if .tls.certificate }}
apiVersion: v1
kind: Secret
type: kubernetes.io/tls
metadata:
  name: {{ .name }}-tls
  namespace: {{ $space }}
  labels: {{- include "labels" . | nindent 4 }}
data:
  tls.crt: {{ .tls.certificate | b64enc }}
  tls.key: {{ .tls.key | b64enc }}
{{- else }}
apiVersion: cert-manager.io/v1
kind: Issuer
metadata:
  name: {{ .name }}-root
  namespace: {{ $space }}
  labels: {{- include "labels" . | nindent 4 }}
spec:
  selfSigned: {}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ .name }}-authority
  namespace: {{ $space }}
  labels: {{- include "labels" . | nindent 4 }}
spec:
  isCA: true
  commonName: {{ .name }}
  secretName: {{ .name }}-authority
  duration: 87600h
  renewBefore: 8760h
  privateKey: {algorithm: ECDSA, size: 256, rotationPolicy: Never}
  issuerRef: {kind: Issuer, name: {{ .name }}-root}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata:
  name: {{ .name }}
  namespace: {{ $space }}
  labels: {{- include "labels" . | nindent 4 }}
spec:
  ca: {secretName: {{ .name }}-authority}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ .name }}
  namespace: {{ $space }}
  labels: {{- include "labels" . | nindent 4 }}
spec:
  secretName: {{ .name }}-tls
  duration: 2160h
  renewBefore: 720h
  privateKey: {algorithm: ECDSA, size: 256, rotationPolicy: Always}
  usages: [server auth]
  dnsNames: {{- concat .hostnames (list (printf "%s.%s.svc" .name $space)) | toYaml | nindent 4 }}
  {{- with .address }}
  ipAddresses: [{{ . }}]
  {{- end }}
  issuerRef: {kind: Issuer, name: {{ .name }}}
{{- end }}
{{- end }}

{{- define "availability" }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{- include "metadata" . | nindent 2 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {{- include "selector" . | nindent 6 }}
{{- end }}

{{- define "service" }}
apiVersion: v1
kind: Service
metadata:
  name: {{ .name }}-metrics
  namespace: {{ .values.namespace }}
  labels: {{- include "labels" . | nindent 4 }}
  annotations:
    prometheus.io/scrape: "true"
    prometheus.io/port: "8080"
spec:
  {{- if .api }}
  # Replicas ask each other, one by one.
  clusterIP: None
  {{- end }}
  selector: {{- include "selector" . | nindent 4 }}
  ports:
    - {name: metrics, port: 8080, targetPort: metrics}
{{- if .root.Values.serviceMonitor }}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {{- include "metadata" . | nindent 2 }}
spec:
  selector:
    matchLabels: {{- include "selector" . | nindent 6 }}
  endpoints:
    - {port: metrics}
{{- end }}
{{- end }}

{{- define "deployment" }}
apiVersion: apps/v1
kind: Deployment
metadata: {{- include "metadata" . | nindent 2 }}
spec:
  replicas: {{ if include "alone" . }}1{{ else }}{{ .values.replicas }}{{ end }}
  {{- if include "alone" . }}
  # Without a lease nothing else keeps two from working at a time.
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}
  {{- end }}
  selector:
    matchLabels: {{- include "selector" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "labels" . | nindent 8 }}
      annotations:
        kubectl.kubernetes.io/default-container: manager
        {{- with .root.Values.trustBundle }}
        slipway.sh/trust: {{ sha256sum . }}
        {{- end }}
        {{- with .settings }}
        slipway.sh/settings: {{ sha256sum . }}
        {{- end }}
        {{- if include "fenced" . }}
        slipway.sh/fence: {{ sha256sum (toJson .root.Values.fence) }}
        {{- end }}
    spec: {{- include "pod" . | nindent 6 }}
{{- end }}

{{- define "pod" -}}
serviceAccountName: {{ .name }}
{{- if .unprivileged }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- end }}
terminationGracePeriodSeconds: 40
securityContext:
  {{- if .machine }}
  runAsUser: 0
  runAsGroup: 0
  {{- else }}
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  {{- end }}
  seccompProfile: {type: RuntimeDefault}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels: {{- include "selector" . | nindent 14 }}
{{- with .root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: manager
    image: {{ .root.Values.image | default (printf "ghcr.io/slipway-sh/slipway:%s" .root.Chart.AppVersion) }}
    imagePullPolicy: {{ .root.Values.imagePullPolicy }}
    args:
      - serve
      {{- if .api }}
      - {{ .set }}
      {{- else }}
      - controllers
      - --only={{ concat (list .set) (.more | default list) | join "," }}
      {{- end }}
      {{- if include "fenced" . }}
      - --fence-environment={{ .root.Values.fence.environment }}
      - --fence-clouds=/etc/slipway/fence/clouds.yaml
      {{- end }}
      {{- if include "alone" . }}
      - --leader-election=false
      {{- end }}
      - --log-level={{ .root.Values.logLevel }}
      {{- range concat .args .values.args }}
      - {{ . | quote }}
      {{- end }}
    env:
      # The garbage collector works harder before the kernel ends the process.
      - name: GOMEMLIMIT
        valueFrom: {resourceFieldRef: {resource: limits.memory}}
      # A connection to a control plane that is lost ends after 8 s, not after 45: until then
      # every request on it hangs.
      - {name: HTTP2_READ_IDLE_TIMEOUT_SECONDS, value: "5"}
      - {name: HTTP2_PING_TIMEOUT_SECONDS, value: "3"}
      {{- range $name, $value := .env }}
      - {name: {{ $name }}, value: {{ $value | quote }}}
      {{- end }}
      {{- if .root.Values.trustBundle }}
      - {name: SSL_CERT_FILE, value: /etc/slipway/trust/ca.crt}
      {{- end }}
      {{- range $name, $value := .root.Values.env }}
      - {name: {{ $name }}, value: {{ $value | quote }}}
      {{- end }}
    ports:
      {{- if not .unprivileged }}
      - {name: metrics, containerPort: 8080}
      {{- end }}
      {{- if .api }}
      - {name: api, containerPort: {{ .port | default 9511 }}}
    livenessProbe:
      tcpSocket: {port: api}
      initialDelaySeconds: 15
      periodSeconds: 20
    readinessProbe:
      httpGet: {path: /healthcheck, port: api, scheme: HTTPS}
      periodSeconds: 5
      timeoutSeconds: 2
      {{- else }}
      - {name: health, containerPort: 8081}
    # They answer once the API server has told them its kinds: ten minutes on a slow machine.
    startupProbe:
      httpGet: {path: /healthz, port: health}
      periodSeconds: 1
      timeoutSeconds: 10
      failureThreshold: 600
    livenessProbe:
      httpGet: {path: /healthz, port: health}
      periodSeconds: 20
      timeoutSeconds: 10
    readinessProbe:
      httpGet: {path: /readyz, port: health}
      periodSeconds: 5
      timeoutSeconds: 10
      {{- end }}
    resources: {{- toYaml .values.resources | nindent 6 }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: {drop: [ALL]{{ if .machine }}, add: [SYS_CHROOT]{{ end }}}
    volumeMounts:
      - {name: tmp, mountPath: /tmp}
      {{- with .machine }}
      - {name: machine, mountPath: {{ . }}}
      {{- end }}
      {{- range $name, $folder := merge (dict) (.mounts | default dict) (.configs | default dict) }}
      - {name: {{ $name }}, mountPath: {{ $folder }}, readOnly: true}
      {{- end }}
      {{- if include "fenced" . }}
      - {name: fence, mountPath: /etc/slipway/fence, readOnly: true}
      {{- end }}
      {{- if .root.Values.trustBundle }}
      - {name: trust, mountPath: /etc/slipway/trust, readOnly: true}
      {{- end }}
volumes:
  - name: tmp
    emptyDir: {{- toYaml .tmp | nindent 6 }}
  {{- if .machine }}
  - {name: machine, hostPath: {path: /, type: Directory}}
  {{- end }}
  {{- range $name, $folder := .mounts }}
  - {name: {{ $name }}, secret: {secretName: {{ $name }}, defaultMode: 0440}}
  {{- end }}
  {{- range $name, $folder := .configs }}
  - {name: {{ $name }}, configMap: {name: {{ $name }}}}
  {{- end }}
  {{- if include "fenced" . }}
  - {name: fence, secret: {secretName: {{ .name }}-fence, defaultMode: 0440}}
  {{- end }}
  {{- if .root.Values.trustBundle }}
  - {name: trust, configMap: {name: {{ .name }}-trust}}
  {{- end }}
{{- end }}
