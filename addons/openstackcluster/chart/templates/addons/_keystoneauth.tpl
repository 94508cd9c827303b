{{/* Is it the bundle's that runs, and no chart of others? */}}
{{- define "keystoneauth.own" -}}
{{- $auth := .Values.addons.openstack.k8sKeystoneAuth -}}
{{- if and .Values.addons.enabled .Values.addons.openstack.enabled $auth.enabled (empty $auth.chart) -}}true{{- end -}}
{{- end -}}

{{/* [value, expression of the addon provider]: a user's value, or what that renders to. */}}
{{- define "keystoneauth.value" -}}
{{- if index . 0 -}}{{ include "addon.protect" (toString (index . 0)) }}{{- else -}}{{ index . 1 }}{{- end -}}
{{- end -}}

{{/*
The webhook on each control plane, behind the loopback, with the certificate of the
API server beside it: root, because the key is root's, and nothing else that root
may. Roles in the project are groups of the cluster; what they may do are bindings
like any others.
*/}}
{{- define "keystoneauth.manifests" -}}
{{- $auth := .Values.addons.openstack.k8sKeystoneAuth -}}
{{- $values := default dict $auth.values -}}
{{ `{%- set clouds = cloud_identity.data["clouds.yaml"] | b64decode | fromyaml %}` }}
{{- range $role, $may := $auth.roles }}
{{- if $may }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  # What a binding refers to cannot be changed: another one has another name.
  name: {{ include "addon.protect" (printf "keystone:%s:%s" $role $may) | quote }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ include "addon.protect" $may | quote }}
subjects:
  - apiGroup: rbac.authorization.k8s.io
    kind: Group
    name: {{ include "addon.protect" (printf "keystone:%s" $role) | quote }}
{{- end }}
{{- end }}
{{ `{%- if "cacert" in cloud_identity.data %}` }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: keystone-auth
binaryData:
  cacert: {{ `{{ cloud_identity.data["cacert"] }}` }}
{{ `{%- endif %}` }}
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: keystone-auth
spec:
  selector:
    matchLabels: {app.kubernetes.io/name: keystone-auth}
  template:
    metadata:
      labels: {app.kubernetes.io/name: keystone-auth}
    spec:
      priorityClassName: system-node-critical
      hostNetwork: true
      dnsPolicy: Default
      automountServiceAccountToken: false
      nodeSelector:
        node-role.kubernetes.io/control-plane: ""
      tolerations:
        - operator: Exists
      containers:
        - name: keystone-auth
          image: {{ $auth.image.repository }}:{{ $auth.image.tag }}
          imagePullPolicy: IfNotPresent
          args:
            - --listen=127.0.0.1:8443
            - --tls-cert-file=/etc/kubernetes/pki/apiserver.crt
            - --tls-private-key-file=/etc/kubernetes/pki/apiserver.key
            - "--keystone-url={{ include "keystoneauth.value" (list $values.openstackAuthUrl "{{ clouds.clouds.openstack.auth.auth_url }}") }}"
            - "--project-id={{ include "keystoneauth.value" (list $values.projectId "{{ clouds.clouds.openstack.auth.project_id | default('') }}") }}"
            {{ `{%- if "cacert" in cloud_identity.data %}` }}
            - --keystone-ca-file=/etc/keystone/cacert
            {{ `{%- endif %}` }}
          readinessProbe:
            httpGet: {host: 127.0.0.1, port: 8443, scheme: HTTPS, path: /healthz}
            periodSeconds: 5
            timeoutSeconds: 10
          livenessProbe:
            httpGet: {host: 127.0.0.1, port: 8443, scheme: HTTPS, path: /healthz}
            timeoutSeconds: 10
          resources:
            requests: {cpu: 10m, memory: 32Mi}
            limits: {memory: 256Mi}
          securityContext:
            runAsUser: 0
            runAsGroup: 0
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
            seccompProfile: {type: RuntimeDefault}
          volumeMounts:
            - {name: certificate, mountPath: /etc/kubernetes/pki/apiserver.crt, readOnly: true}
            - {name: key, mountPath: /etc/kubernetes/pki/apiserver.key, readOnly: true}
            {{ `{%- if "cacert" in cloud_identity.data %}` }}
            - {name: keystone, mountPath: /etc/keystone, readOnly: true}
            {{ `{%- endif %}` }}
      volumes:
        - name: certificate
          hostPath: {path: /etc/kubernetes/pki/apiserver.crt, type: File}
        - name: key
          hostPath: {path: /etc/kubernetes/pki/apiserver.key, type: File}
        {{ `{%- if "cacert" in cloud_identity.data %}` }}
        - name: keystone
          configMap: {name: keystone-auth}
        {{ `{%- endif %}` }}
{{- end }}
