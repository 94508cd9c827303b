{{/* Mirrors and credentials of registries on the nodes; nothing where none are set. YAML. */}}
{{- define "containerd.files" -}}
{{- $mirrors := dict -}}
{{- range $registry, $settings := .Values.registryMirrors -}}
  {{- if $settings -}}{{- $_ := set $mirrors $registry $settings -}}{{- end -}}
{{- end -}}
{{- if or $mirrors .Values.registryAuth -}}
files:
  - path: /etc/containerd/configure-registries.sh
    owner: root:root
    permissions: "0755"
    content: {{ include "containerd.script" . | quote }}
{{- range $registry, $settings := $mirrors }}
  - path: {{ printf "/etc/containerd/certs.d/%s/hosts.toml" $registry | quote }}
    owner: root:root
    permissions: "0644"
    content: {{ include "containerd.hosts" (list $registry $settings) | quote }}
{{- range $name, $certificate := include "containerd.authorities" $settings | mustFromJson }}
  - path: {{ printf "/etc/containerd/certs.d/%s/%s.crt" $registry $name | quote }}
    owner: root:root
    permissions: "0644"
    content: {{ quote $certificate }}
{{- end }}
{{- end }}
{{- if .Values.registryAuth }}
  - path: /etc/containerd/auth.toml
    owner: root:root
    permissions: "0600"
    contentFrom:
      secret:
        name: {{ include "cluster.componentName" (list . "containerd-auth") }}
        key: auth.toml
  # Machines are made anew when the credentials change.
  - path: /etc/containerd/auth.checksum
    owner: root:root
    permissions: "0600"
    content: {{ include "containerd.auth" . | sha256sum | trunc 8 | quote }}
{{- end }}
preKubeadmCommands:
  - /etc/containerd/configure-registries.sh
{{- end -}}
{{- end -}}

{{/* [registry, settings]: containerd's hosts.toml, see containerd's docs/hosts.md. */}}
{{- define "containerd.hosts" -}}
{{- $registry := index . 0 -}}
{{- $settings := index . 1 -}}
{{- if kindIs "slice" $settings -}}{{- $settings = dict "mirrors" $settings -}}{{- end -}}
{{- $upstream := $settings.upstream | default (eq $registry "docker.io" | ternary "https://registry-1.docker.io" (printf "https://%s" $registry)) -}}
server = {{ quote $upstream }}
{{ if $settings.ca -}}
ca = {{ printf "/etc/containerd/certs.d/%s/server.crt" $registry | quote }}
{{ end -}}
{{ range $place, $mirror := $settings.mirrors }}
{{- if kindIs "string" $mirror }}{{ $mirror = dict "url" $mirror }}{{ end }}
[host.{{ required (printf "registryMirrors.%s: a mirror needs an url" $registry) $mirror.url | quote }}]
  capabilities = {{ $mirror.capabilities | default (list "pull" "resolve") | mustToJson }}
  skip_verify = {{ $mirror.skipVerify | default false }}
  override_path = {{ hasKey $mirror "overridePath" | ternary $mirror.overridePath true }}
{{- if $mirror.ca }}
  ca = {{ printf "/etc/containerd/certs.d/%s/mirror-%d.crt" $registry $place | quote }}
{{- end }}
{{ end -}}
{{- end -}}

{{/* The authorities of a registry and its mirrors by the names of their files, JSON. */}}
{{- define "containerd.authorities" -}}
{{- $settings := kindIs "slice" . | ternary (dict "mirrors" .) . -}}
{{- $files := dict -}}
{{- with $settings.ca -}}{{- $_ := set $files "server" . -}}{{- end -}}
{{- range $place, $mirror := $settings.mirrors -}}
  {{- if kindIs "map" $mirror -}}
    {{- with $mirror.ca -}}{{- $_ := set $files (printf "mirror-%d" $place) . -}}{{- end -}}
  {{- end -}}
{{- end -}}
{{- mustToJson $files -}}
{{- end -}}

{{/* The credentials as containerd 1 spells them; the script on the node makes containerd 2's of it. */}}
{{- define "containerd.auth" -}}
{{- range $registry, $login := .Values.registryAuth }}
{{- range eq $registry "docker.io" | ternary (list "docker.io" "registry-1.docker.io") (list $registry) }}
[plugins."io.containerd.grpc.v1.cri".registry.configs.{{ quote . }}.auth]
  username = {{ quote $login.username }}
  password = {{ quote $login.password }}
{{- end }}
{{- end }}
{{ end -}}

{{/*
Files of containerd 2 have version 3 and a plugin of its own for registries. What
is imported replaces whole plugins in containerd 1, so the one file is changed.
Changes nothing that is as it should be. It is part of machines' content, so
comments are here: a word in it would roll them. No "{" followed by "{", "%" or
"#" in it: cloud-init would take it for a template.
*/}}
{{- define "containerd.script" -}}
#!/bin/sh
set -eu
dir=/etc/containerd
config=$dir/config.toml
[ -s "$config" ] || containerd config default > "$config"
before=$(cksum "$config")
if grep -Eq '^version *= *3' "$config"; then
  plugin=io.containerd.cri.v1.images
else
  plugin=io.containerd.grpc.v1.cri
fi
sed -i -E "s|^( *config_path *= *)(''\|\"\")|\1\"$dir/certs.d\"|" "$config"
if ! grep -Eq "^ *config_path *= *['\"]/" "$config"; then
  if grep -Eq "^ *\[plugins\.['\"]$plugin['\"]\.registry\]" "$config"; then
    sed -i -E "/^ *\[plugins\.['\"]$plugin['\"]\.registry\]/a config_path = \"$dir/certs.d\"" "$config"
  else
    printf '\n[plugins."%s".registry]\nconfig_path = "%s/certs.d"\n' "$plugin" "$dir" >> "$config"
  fi
fi
if [ -f $dir/auth.toml ] && ! grep -q 'credentials of registries' "$config"; then
  printf '\n# credentials of registries\n' >> "$config"
  sed "s/io\.containerd\.grpc\.v1\.cri/$plugin/" $dir/auth.toml >> "$config"
  chmod 0600 "$config"
fi
[ "$before" = "$(cksum "$config")" ] || systemctl restart containerd
{{ end -}}
