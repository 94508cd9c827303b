{{/*
Filters in the spelling of CAPO's v1alpha7, which is that of capi-helm-charts, or
of v1beta1: an id, or a filter. Gives back JSON of a v1beta1 parameter.
*/}}
{{- define "openstack.filter" -}}
{{- $given := deepCopy (default dict .) -}}
{{- include "structure.prune" $given -}}
{{- if $given.id -}}
  {{- dict "id" $given.id | mustToJson -}}
{{- else -}}
  {{- $filter := $given.filter | default $given -}}
  {{- range list "tags" "tagsAny" "notTags" "notTagsAny" -}}
    {{- $tags := get $filter . -}}
    {{- if and $tags (kindIs "string" $tags) -}}
      {{- $_ := set $filter . (splitList "," $tags) -}}
    {{- end -}}
  {{- end -}}
  {{- range $from, $to := dict "projectId" "projectID" "gateway_ip" "gatewayIP" "gatewayIp" "gatewayIP" "ipv6RaMode" "ipv6RAMode" -}}
    {{- include "structure.rename" (list $filter $from $to) -}}
  {{- end -}}
  {{- if $filter -}}{{- dict "filter" $filter | mustToJson -}}{{- else -}}{}{{- end -}}
{{- end -}}
{{- end -}}

{{/* One port of a server, from either spelling; JSON. */}}
{{- define "openstack.port" -}}
{{- $port := deepCopy . -}}
{{- if $port.network -}}
  {{- $_ := set $port "network" (include "openstack.filter" $port.network | mustFromJson) -}}
{{- end -}}
{{- $addresses := list -}}
{{- range $port.fixedIPs -}}
  {{- $address := deepCopy . -}}
  {{- if $address.subnet -}}
    {{- $_ := set $address "subnet" (include "openstack.filter" $address.subnet | mustFromJson) -}}
  {{- end -}}
  {{- $addresses = append $addresses $address -}}
{{- end -}}
{{- $_ := set $port "fixedIPs" $addresses -}}
{{- include "structure.rename" (list $port "securityGroupFilters" "securityGroups") -}}
{{- $groups := list -}}
{{- range $port.securityGroups -}}
  {{- $group := . -}}
  {{- if kindIs "string" $group -}}{{- $group = dict "id" $group -}}{{- end -}}
  {{- $groups = append $groups (include "openstack.filter" $group | mustFromJson) -}}
{{- end -}}
{{- $_ := set $port "securityGroups" $groups -}}
{{- include "structure.rename" (list $port "hostId" "hostID") -}}
{{- $port = omit $port "tenantId" "projectId" -}}
{{- include "structure.prune" $port -}}
{{- mustToJson $port -}}
{{- end -}}

{{/* [zone]: the zone of a volume; that of the machine where none is given. JSON. */}}
{{- define "openstack.volumeZone" -}}
{{- if . -}}
  {{- dict "from" "Name" "name" . | mustToJson -}}
{{- else -}}
  {{- dict "from" "Machine" | mustToJson -}}
{{- end -}}
{{- end -}}

{{/* [name, device]: an additional block device; JSON. */}}
{{- define "openstack.blockDevice" -}}
{{- $name := index . 0 -}}
{{- $given := index . 1 -}}
{{- $size := required (printf "block device %s: size is required, in GiB" $name) $given.size -}}
{{- $storage := dict "type" ($given.type | default "Volume") -}}
{{- if eq $storage.type "Volume" -}}
  {{- $_ := set $storage "volume" (dict "type" $given.volumeType "availabilityZone" (include "openstack.volumeZone" $given.availabilityZone | mustFromJson)) -}}
{{- end -}}
{{- $device := dict "name" $name "sizeGiB" (int $size) "storage" $storage -}}
{{- include "structure.prune" $device -}}
{{- mustToJson $device -}}
{{- end -}}

{{/* [root, machine settings]: the image; what is said nearer to the machine counts. JSON. */}}
{{- define "openstack.image" -}}
{{- $root := index . 0 -}}
{{- $from := index . 1 -}}
{{- if not (or $from.machineImageId $from.machineImage) -}}
  {{- $from = $root.Values -}}
{{- end -}}
{{- if $from.machineImageId -}}
  {{- dict "id" $from.machineImageId | mustToJson -}}
{{- else if $from.machineImage -}}
  {{- dict "filter" (dict "name" (tpl $from.machineImage $root)) | mustToJson -}}
{{- else -}}
  {{- fail "machineImageId or machineImage is required: an image with kubeadm and kubelet of kubernetesVersion" -}}
{{- end -}}
{{- end -}}

{{/* [root, machine settings, group name]: the server group: an id, a name, or the one that is made here. JSON. */}}
{{- define "openstack.serverGroup" -}}
{{- $machine := index . 1 -}}
{{- $group := $machine.serverGroup | default dict -}}
{{- if $machine.serverGroupId -}}
  {{- dict "id" $machine.serverGroupId | mustToJson -}}
{{- else if $group.policy -}}
  {{- dict "filter" (dict "name" (include "openstack.serverGroupName" (list (index . 0) (index . 2)))) | mustToJson -}}
{{- else if $group.name -}}
  {{- dict "filter" (dict "name" $group.name) | mustToJson -}}
{{- else -}}
  {}
{{- end -}}
{{- end -}}

{{/* [root, group name]: the name in OpenStack; with the namespace, because it must be the only one in the project. */}}
{{- define "openstack.serverGroupName" -}}
{{- printf "k8s-%s-%s-%s" (index . 0).Release.Namespace (include "cluster.name" (index . 0)) (index . 1) -}}
{{- end -}}

{{/* [root, machine settings, group name]: the spec of a server, without what says nothing. JSON. */}}
{{- define "openstack.machineSpec" -}}
{{- $root := index . 0 -}}
{{- $machine := index . 1 -}}
{{- $name := index . 2 -}}
{{- $where := ternary "controlPlane" (printf "nodeGroups[%s]" $name) (eq $name "control-plane") -}}
{{- $spec := dict "flavor" (required (printf "%s.machineFlavor is required" $where) $machine.machineFlavor) -}}
{{- $_ := set $spec "image" (include "openstack.image" (list $root $machine) | mustFromJson) -}}
{{- $_ := set $spec "sshKeyName" $root.Values.machineSSHKeyName -}}
{{- $ports := list -}}
{{- range (default dict $machine.machineNetworking).ports -}}
  {{- $ports = append $ports (include "openstack.port" . | mustFromJson) -}}
{{- end -}}
{{- $_ := set $spec "ports" $ports -}}
{{- with $machine.machineRootVolume -}}
  {{- if .diskSize -}}
    {{- $_ := set $spec "rootVolume" (dict "sizeGiB" (int .diskSize) "type" .volumeType "availabilityZone" (include "openstack.volumeZone" .availabilityZone | mustFromJson)) -}}
  {{- end -}}
{{- end -}}
{{- $devices := list -}}
{{- if and (eq $name "control-plane") $root.Values.etcd.blockDevice -}}
  {{- $devices = append $devices (include "openstack.blockDevice" (list "etcd" $root.Values.etcd.blockDevice) | mustFromJson) -}}
{{- end -}}
{{- range $device, $settings := $machine.additionalBlockDevices -}}
  {{- if kindIs "map" $settings -}}
    {{- $devices = append $devices (include "openstack.blockDevice" (list $device $settings) | mustFromJson) -}}
  {{- end -}}
{{- end -}}
{{- $_ := set $spec "additionalBlockDevices" $devices -}}
{{- $_ := set $spec "serverGroup" (include "openstack.serverGroup" . | mustFromJson) -}}
{{- $metadata := deepCopy (default dict $root.Values.machineMetadata) -}}
{{- include "structure.merge" (list $metadata (default dict $machine.machineMetadata)) -}}
{{- $pairs := list -}}
{{- range $key, $value := $metadata -}}
  {{- if not (kindIs "invalid" $value) -}}
    {{- $pairs = append $pairs (dict "key" $key "value" (include "structure.text" $value)) -}}
  {{- end -}}
{{- end -}}
{{- $_ := set $spec "serverMetadata" $pairs -}}
{{- if or $machine.machineConfigDrive (and (eq $name "control-plane") $root.Values.etcd.blockDevice) -}}
  {{- $_ := set $spec "configDrive" true -}}
{{- end -}}
{{- include "structure.prune" $spec -}}
{{- mustToJson $spec -}}
{{- end -}}
