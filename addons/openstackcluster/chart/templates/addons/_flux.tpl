{{/*
Flux' controllers of sources and of Kustomizations, with the rights that their own projects give
them. The definitions stay if Flux is switched off, or what it applied would be deleted.
*/}}
{{- define "flux.manifests" -}}
{{- $flux := .Values.addons.flux -}}
{{- $namespace := $flux.release.namespace -}}
{{- $keep := "\n  annotations:\n    helm.sh/resource-policy: keep\n" -}}
{{ include "addon.protect" (.Files.Get "files/flux-crds.yaml" | replace "\n  annotations:\n" $keep) }}
{{- range $name, $program := dict "source-controller" $flux.sourceController "kustomize-controller" $flux.kustomizeController }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $name }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: flux-leader-election}
subjects:
  - {kind: ServiceAccount, name: {{ $name }}, namespace: {{ $namespace }}}
---
{{ include "flux.deployment" (list $name $program) }}
{{- end }}
---
{{ include "flux.rights" $namespace }}
---
apiVersion: v1
kind: Service
metadata:
  name: source-controller
spec:
  selector: {app: source-controller}
  ports:
    - {name: http, port: 80, targetPort: http}
---
# The artifacts of sources, which may hold secrets, are served to everybody who reaches them.
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: flux
spec:
  podSelector: {}
  policyTypes: [Ingress]
  ingress:
    - from:
        - podSelector: {}
    - from:
        - namespaceSelector: {}
      ports:
        - {port: http-prom}
{{- end -}}

{{- define "flux.rights" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: slipway:flux-sources
rules:
  - {apiGroups: [""], resources: [events], verbs: [create, patch]}
  - {apiGroups: [""], resources: [secrets, serviceaccounts], verbs: [get, list, watch]}
  - {apiGroups: [""], resources: [serviceaccounts/token], verbs: [create]}
  - {apiGroups: [source.toolkit.fluxcd.io], resources: ["*"], verbs: [create, delete, get, list, patch, update, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: slipway:flux-sources
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "slipway:flux-sources"}
subjects:
  - {kind: ServiceAccount, name: source-controller, namespace: {{ . }}}
---
# It applies whatever a Kustomization has, or does so as the account that one names.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: slipway:flux-kustomizations
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects:
  - {kind: ServiceAccount, name: kustomize-controller, namespace: {{ . }}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: flux-leader-election
rules:
  - {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, list, watch, create, update, patch, delete]}
{{- end -}}

{{/* [name, settings]: one of the controllers. */}}
{{- define "flux.deployment" -}}
{{- $name := index . 0 -}}
{{- $program := index . 1 -}}
{{- $sources := eq $name "source-controller" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
spec:
  replicas: 1
  # A second one would only wait to be elected.
  strategy: {type: Recreate}
  selector:
    matchLabels: {app: {{ $name }}}
  template:
    metadata:
      labels: {app: {{ $name }}}
    spec:
      serviceAccountName: {{ $name }}
      nodeSelector: {kubernetes.io/os: linux}
      # Objects that are being applied get their time.
      terminationGracePeriodSeconds: {{ $sources | ternary 10 60 }}
      securityContext: {fsGroup: 65532}
      containers:
        - name: manager
          image: {{ $program.image.repository }}:{{ $program.image.tag }}
          imagePullPolicy: IfNotPresent
          env:
            - name: RUNTIME_NAMESPACE
              valueFrom: {fieldRef: {fieldPath: metadata.namespace} }
            {{- if $sources }}
            - {name: TUF_ROOT, value: /tmp/.sigstore}
            {{- end }}
          args:
            - --watch-all-namespaces
            - --log-encoding=json
            - --enable-leader-election
            {{- if $sources }}
            - --storage-path=/data
            - --storage-adv-addr=source-controller.$(RUNTIME_NAMESPACE).svc
            {{- end }}
            {{- range $program.args }}
            - {{ include "addon.protect" . | quote }}
            {{- end }}
          ports:
            {{- if $sources }}
            - {containerPort: 9090, name: http}
            {{- end }}
            - {containerPort: 8080, name: http-prom}
            - {containerPort: 9440, name: healthz}
          livenessProbe:
            httpGet: {path: /healthz, port: healthz}
            timeoutSeconds: 5
          readinessProbe:
            {{- if $sources }}
            httpGet: {path: /, port: http}
            {{- else }}
            httpGet: {path: /readyz, port: healthz}
            {{- end }}
            timeoutSeconds: 5
          resources:
            requests: {cpu: 50m, memory: 64Mi}
            limits: {memory: 1Gi}
          securityContext:
            runAsNonRoot: true
            runAsUser: 65532
            runAsGroup: 65532
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
            seccompProfile: {type: RuntimeDefault}
          volumeMounts:
            - {name: tmp, mountPath: /tmp}
            {{- if $sources }}
            - {name: data, mountPath: /data}
            {{- end }}
      volumes:
        - {name: tmp, emptyDir: {} }
        {{- if $sources }}
        - {name: data, emptyDir: {} }
        {{- end }}
{{- end -}}
