# shellcheck shell=bash
# The images of the site's boxes: those that come with this repository, and a person's own.

repo=${repo:?}
# The images that the site needs: its default, those it was asked for (ASB_IMAGES="a b"), those that a person has
# built for it and, where it has a model, the agent's that calls one: that one's is a download which nobody else
# should wait for.
images_up() {
	local image
	{
		printf '%s\n' "${BOX_IMAGE:-base}"
		tr ' ' '\n' <<<"${ASB_IMAGES:-}"
		sed -n 's/^ASB_MODEL=1$/claude/p' "$STATE/conf/site.conf"
		[ ! -d "$STATE/recipes" ] || find "$STATE/recipes" -name '*.recipe' -printf '%f\n' | sed 's/\.recipe$//' | sort
	} | awk 'NF && !seen[$1]++' | while read -r image; do
		image_up "$image"
	done
}

# The engines that the site's boxes may be containers of.
container_engines() {
	sed -n 's/^BOX_RUNTIMES\{0,1\}=//p' "$STATE/conf/site.conf" | tr ' ' '\n' |
		awk '($1 == "podman" || $1 == "docker" || $1 == "msb") && !seen[$1]++'
}

# The image and its template, by key: nothing to do where the key is there. What "base" means is the site's
# own: clones of this repository side by side build their own boxd, and share by key whatever is equal.
image_up() {
	local image=$1 class=s dir recipe=()
	[ -x "$repo/workers/box/images/build" ] && [ -x "$STATE/lib/box/asb-boxd" ] || return 0
	[ ! -f "$STATE/recipes/$image.recipe" ] || recipe=("$STATE/recipes/$image.recipe")
	dir=$("$repo/workers/box/images/build" "$image" "$CACHE" "$STATE/lib/box" ${recipe[@]+"${recipe[@]}"}) ||
		fail "the image $image could not be built"
	mkdir -p "$CACHE/templates" "$CACHE/tmp" "$STATE/cache/images/by-name"
	ln -sfn "$CACHE/templates" "$STATE/cache/templates"
	ln -sfn "$CACHE/tmp" "$STATE/cache/tmp"
	ln -sfn "$dir" "$STATE/cache/images/${dir##*/}"
	ln -sfn "../${dir##*/}" "$STATE/cache/images/by-name/$image"
	container_engines | while read -r engine; do
		"$repo/workers/box/images/import" "$engine" "$image" "$STATE/cache" >/dev/null ||
			fail "the image $image did not get into $engine's store"
	done
	have asb-image || return 0
	without_settings ASB_CONFIG="$STATE/conf/site.conf" "$STATE/lib/bin/asb-image" template "$image" "$class" >/dev/null ||
		fail "the template $image-$class could not be made"
}

# image_own NAME --recipe FILE | --image REFERENCE | --dockerfile FILE: an image of a person's own. What it is made
# of is kept as a recipe of the site, so that a newer asb-boxd gets into it too.
image_own() {
	local name=${1:-} how=${2:-} from=${3:-} word
	[[ $name =~ ^[a-z0-9][a-z0-9-]{0,40}$ ]] || fail "a name is of a-z, 0-9 and -"
	[ ! -f "$repo/workers/box/images/$name.recipe" ] || fail "the name $name is one of ours"
	[ $# = 3 ] || fail "image NAME --recipe FILE | --image REFERENCE | --dockerfile FILE"
	[ "$CLAIMED" = 1 ] || fail "there is no site $SITE yet: deploy/stack up"
	mkdir -p "$STATE/recipes"
	case $how in
	--recipe)
		[ -f "$from" ] || fail "no file $from"
		grep -q '^file ' "$from" && fail "$from: files beside a recipe are for this repository's own"
		# the root of another recipe gets files and nothing else: what would not be done is refused
		word=$(grep -q '^from ' "$from" && sed -nE '/^(from|npm|warm) |^#|^$/!{s/ .*//p;q}' "$from") || true
		[ -z "$word" ] || fail "$from: $word beside from; say like instead, with suite and packages"
		cp "$from" "$STATE/recipes/$name.new"
		;;
	--image)
		# oci:REFERENCE is create_sandbox's word for one of a registry; oci:/PATH is a folder
		[[ $from =~ ^oci:[^./] ]] && from=${from#oci:}
		if [[ $from == oci:/* ]]; then
			# podman names what it takes of a folder after its path, where not every path is a name
			[ -f "${from#oci:}/index.json" ] || fail "${from#oci:}: no folder of an OCI image"
			tar -C "${from#oci:}" -cf "$STATE/recipes/$name.tar" .
			from=$(podman pull -q "oci-archive:$STATE/recipes/$name.tar") || from=''
			rm "$STATE/recipes/$name.tar"
			[ -n "$from" ] || fail "podman cannot get $3"
		fi
		podman image exists "$from" || from=$(podman pull -q "$from") || fail "podman cannot get $3"
		image_oci "$name" "$from" "$3"
		;;
	--dockerfile)
		[ -f "$from" ] || fail "no file $from"
		podman build -q --isolation chroot -t "localhost/asb-$name" -f "$from" "$(dirname "$from")" >/dev/null ||
			fail "podman could not build $from"
		image_oci "$name" "localhost/asb-$name" "localhost/asb-$name"
		;;
	*) fail "one of --recipe, --image and --dockerfile" ;;
	esac
	mv "$STATE/recipes/$name.new" "$STATE/recipes/$name.recipe"
	(image_up "$name") || {
		rm -f "$STATE/recipes/$name.recipe"
		fail "$name was not built"
	}
	say "boxes may have the image $name"
}

# image_oci NAME REFERENCE FROM: its recipe, of the image that podman has by that name now; FROM is what a person said
image_oci() {
	local id
	id=$(podman image inspect --format '{{.Id}}' "$2") || fail "podman has no image $2"
	[[ $3 != *[[:space:]]* ]] || fail "$3: a name without spaces"
	printf 'like base\noci %s %s\n' "$3" "$id" >"$STATE/recipes/$1.new"
}
