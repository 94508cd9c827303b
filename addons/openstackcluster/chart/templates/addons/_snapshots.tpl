{{/*
What snapshots of volumes need beside the CSI driver, which has their sidecar: their
definitions, as the snapshotter's project releases them, and its controller. The
definitions stay if snapshots are switched off, or those that exist would be deleted.
*/}}
{{- define "csisnapshots.manifests" -}}
{{- $openstack := .Values.addons.openstack -}}
{{- $image := $openstack.csiCinder.snapshots.image -}}
{{- $keep := "\n  annotations:\n    helm.sh/resource-policy: keep\n" -}}
{{ include "addon.protect" (.Files.Get "files/snapshot-crds.yaml" | replace "\n  annotations:\n" $keep) }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: snapshot-controller
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: slipway:snapshot-controller
rules:
  - {apiGroups: [""], resources: [persistentvolumes], verbs: [get, list, watch]}
  - {apiGroups: [""], resources: [persistentvolumeclaims], verbs: [get, list, watch, update]}
  - {apiGroups: [""], resources: [events], verbs: [list, watch, create, update, patch]}
  - {apiGroups: [snapshot.storage.k8s.io], resources: [volumesnapshotclasses], verbs: [get, list, watch]}
  - {apiGroups: [snapshot.storage.k8s.io], resources: [volumesnapshotcontents, volumesnapshots], verbs: [create, get, list, watch, update, delete, patch]}
  - {apiGroups: [snapshot.storage.k8s.io], resources: [volumesnapshotcontents/status, volumesnapshots/status], verbs: [update, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: slipway:snapshot-controller
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "slipway:snapshot-controller"}
subjects:
  - {kind: ServiceAccount, name: snapshot-controller, namespace: {{ $openstack.targetNamespace }}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: snapshot-controller
rules:
  - {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, watch, list, delete, update, create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: snapshot-controller
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: snapshot-controller}
subjects:
  - {kind: ServiceAccount, name: snapshot-controller, namespace: {{ $openstack.targetNamespace }}}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: snapshot-controller
spec:
  replicas: 1
  selector:
    matchLabels: {app.kubernetes.io/name: snapshot-controller}
  template:
    metadata:
      labels: {app.kubernetes.io/name: snapshot-controller}
    spec:
      serviceAccountName: snapshot-controller
      priorityClassName: system-cluster-critical
      # Where the controller of the CSI driver runs.
      nodeSelector:
        node-role.kubernetes.io/control-plane: ""
      tolerations:
        - {key: node-role.kubernetes.io/control-plane, effect: NoSchedule}
      containers:
        - name: snapshot-controller
          image: {{ $image.repository }}:{{ $image.tag }}
          imagePullPolicy: IfNotPresent
          args: [--leader-election=true]
          resources:
            requests: {cpu: 10m, memory: 32Mi}
            limits: {memory: 256Mi}
          securityContext:
            runAsNonRoot: true
            runAsUser: 65532
            runAsGroup: 65532
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
            seccompProfile: {type: RuntimeDefault}
{{- end }}

{{/* The class, which waits for the definitions. */}}
{{- define "csisnapshots.class" -}}
{{- $class := .Values.addons.openstack.csiCinder.snapshots.class -}}
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata:
  name: {{ required "addons.openstack.csiCinder.snapshots.class.name is required" $class.name }}
  annotations:
    snapshot.storage.kubernetes.io/is-default-class: {{ default false $class.isClusterDefault | quote }}
driver: cinder.csi.openstack.org
deletionPolicy: {{ default "Delete" $class.deletionPolicy }}
{{- with $class.parameters }}
parameters:
  {{- range $key, $value := . }}
  {{ $key }}: {{ include "addon.protect" (include "structure.text" $value) | quote }}
  {{- end }}
{{- end }}
{{- end }}
