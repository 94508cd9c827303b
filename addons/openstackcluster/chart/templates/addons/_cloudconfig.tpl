{{/*
The Secret that the cloud controller manager and the CSI drivers read. The addon
provider fills in what only it knows: the credential and the networks. Without a
CA the system's roots are used; only "verify: false" in clouds.yaml ends that. A
credential of its own, cloud-provider.yaml, keeps Cluster API's away from the cluster.
*/}}
{{- define "cloudconfig.secret" -}}
{{- $sections := deepCopy .Values.addons.openstack.cloudConfig -}}
{{ `{%- set clouds = cloud_identity.data["clouds.yaml"] | b64decode | fromyaml %}` }}
apiVersion: v1
kind: Secret
metadata:
  name: cloud-config
data:
  {{ `{%- for key, value in cloud_identity.data.items() %}` }}
  {{ `{%- if key == "cloud-provider.yaml" %}` }}
  {{ `clouds.yaml: {{ value }}` }}
  {{ `{%- elif key == "clouds.yaml" and "cloud-provider.yaml" in cloud_identity.data %}` }}
  {{ `{%- else %}` }}
  {{ `{{ key }}: {{ value }}` }}
  {{ `{%- endif %}` }}
  {{ `{%- endfor %}` }}
stringData:
  cloud.conf: |
    [Global]
    use-clouds=true
    clouds-file=/etc/config/clouds.yaml
    cloud=openstack
    {{ `{%- if "cacert" in cloud_identity.data %}` }}
    ca-file=/etc/config/cacert
    {{ `{%- endif %}` }}
    {{ `{%- if clouds.clouds.openstack.verify | default(True) %}` }}
    {{- /* The else branch, because the provider's templates know no "not". */}}
    {{ `{%- else %}` }}
    tls-insecure=true
    {{ `{%- endif %}` }}
    [Networking]
    {{- if not (hasKey (default dict $sections.Networking) "internal-network-name") }}
    {{- /* A network that is shared has the name its owner gives it: it is one line, and no line goes on after it. */}}
    internal-network-name={{ `{{ (infra_cluster.status.network.name | default("")).splitlines() | join(" ") | replace("\\", " ") }}` }}
    {{- end }}
    {{- include "cloudconfig.section" $sections.Networking }}
    [LoadBalancer]
    {{- if not (hasKey (default dict $sections.LoadBalancer) "floating-network-id") }}
    {{ `{%- if infra_cluster.status.externalNetwork %}` }}
    floating-network-id={{ `{{ infra_cluster.status.externalNetwork.id }}` }}
    {{ `{%- endif %}` }}
    {{- end }}
    {{- include "cloudconfig.section" (include "cloudconfig.balancers" . | mustFromJson) }}
    {{- range $name, $settings := omit $sections "Global" "Networking" "LoadBalancer" }}
    [{{ $name }}]
    {{- include "cloudconfig.section" $settings }}
    {{- end }}
{{- end -}}

{{/*
Restarts what reads cloud.conf when its settings have changed, after the Secret has: they read it
once. A new credential is distributed in another way.
*/}}
{{- define "cloudconfig.hooks" -}}
{{- $settings := list .Values.addons.openstack.cloudConfig (include "cloudconfig.balancers" .) | mustToJson | sha256sum | trunc 16 -}}
{{- $readers := dict "openstack-cloud-controller-manager" "DaemonSet" "openstack-cinder-csi-controllerplugin" "Deployment" "openstack-cinder-csi-nodeplugin" "DaemonSet" -}}
postUpgrade:
  {{- range $name, $kind := $readers }}
  - apiVersion: apps/v1
    kind: {{ $kind }}
    name: {{ $name }}
    action: patch
    options:
      type: strategic
      data: {spec: {template: {metadata: {annotations: {slipway.sh/cloud-config: {{ $settings | quote }} } } } } }
  {{- end }}
{{- end -}}

{{/* The settings of a section; a null takes a default away. */}}
{{- define "cloudconfig.section" -}}
{{- range $key, $value := . }}
{{- if not (kindIs "invalid" $value) }}
    {{ $key }}={{ include "addon.protect" (include "structure.text" $value) }}
{{- end }}
{{- end }}
{{- end -}}

{{/*
The settings for load balancers of Services, JSON. Where the API server's is OVN's,
theirs are too: a cloud that has OVN need not have Amphora, which is the cloud
controller manager's default. OVN knows one algorithm, which is not its default either.
*/}}
{{- define "cloudconfig.balancers" -}}
{{- $settings := deepCopy (default dict .Values.addons.openstack.cloudConfig.LoadBalancer) -}}
{{- $provider := get $settings "lb-provider" | default (.Values.apiServer.loadBalancerProvider | default "amphora") -}}
{{- if eq $provider "ovn" -}}
  {{- range $key, $value := dict "lb-provider" "ovn" "lb-method" "SOURCE_IP_PORT" "create-monitor" true -}}
    {{- if not (hasKey $settings $key) -}}{{- $_ := set $settings $key $value -}}{{- end -}}
  {{- end -}}
{{- end -}}
{{- mustToJson $settings -}}
{{- end -}}
