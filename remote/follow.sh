# Follows a file on the host; remote/frames.py says what it prints and remote/tail.py starts it:
#   sh -c PROGRAM longwait-follow PATH INODE OFFSET MARK LAST POLL BEATS CHUNK
# POSIX sh (dash, bash, busybox) on Linux, with stat, dd, od and sleep. Nothing is written on the host.
# The file stays open as descriptor 3: after a rename the old one is read to its end before the new one is opened.
export LC_ALL=C
f=$1 want=$2 pos=$3 mark=$4 last=$5 poll=$6 beats=$7 chunk=$8
case $f in -*) f=./$f ;; esac
case $f in */*) dir=${f%/*}/ ;; *) dir=./ ;; esac
me=/proc/self/fd/3
ino= size=0 told= quiet=0 moved=0 behind=1

# A failed write means that nobody listens any more. (SIGPIPE, when not ignored, ends the program anyway.)
say() { printf "$@" 2>/dev/null || exit 9; }

nap() {
    sleep "$poll" 2>/dev/null || sleep 1
    quiet=$((quiet + 1))
    [ "$quiet" -lt "$beats" ] || beat
}

beat() {
    quiet=0
    if [ -z "$ino" ]; then say 'B 0 1\n'
    elif [ "$size" -gt "$pos" ]; then say 'B %s 0\n' "$size"
    else behind=0; say 'B %s 1\n' "$size"; fi
}

# Why the path can't be read now; empty when it can.
obstacle() {
    if [ -f "$f" ] && [ -r "$f" ]; then why=
    elif [ -d "$f" ]; then why=folder
    elif [ -e "$f" ] || { [ -d "$dir" ] && [ ! -x "$dir" ]; }; then why=unreadable
    else why=missing; fi
}

tell_obstacle() { [ "$why" = "$told" ] || { told=$why; [ -z "$why" ] || say 'W %s\n' "$why"; }; }

# Opens $1 as descriptor 3 at its start; ino, size. A file that vanished meanwhile is a failure, not the end of the
# shell, which is what a plain exec would make of it.
open() {
    (exec 3<"$1") 2>/dev/null || return 1
    exec 3<"$1"
    set -- $(stat -L -c '%i %s' $me 2>/dev/null)
    [ $# -eq 2 ] || { printf 'stat -L -c on %s does not work here\n' "$me" >&2; exit 8; }
    ino=$1 size=$2 moved=0
}

# An lseek, instant in files of any size, because skip is applied to a file and nothing is copied.
seek() { [ "$1" -eq 0 ] || dd bs=1 skip="$1" count=0 <&3 2>/dev/null; }

# seen: the $2 bytes before offset $1, as hexadecimal digits; read through a second opening, so that 3 does not move.
look_back() {
    back=$2
    [ "$1" -ge "$back" ] || back=$1
    [ "$back" -gt 0 ] || { seen=; return; }
    set -- $(dd if=$me bs=1 skip=$(($1 - back)) count="$back" 2>/dev/null | od -An -v -tx1)
    IFS=
    seen=$*
    unset IFS
}

# Whether descriptor 3 still holds what was read up to pos. An empty mark is no evidence.
same_past() {
    [ "$size" -ge "$pos" ] || return 1
    [ -n "$mark" ] || return 0
    look_back "$pos" $((${#mark} / 2))
    [ -z "$seen" ] || [ "$seen" = "$mark" ]
}

# Where descriptor 3 is. The shell and dd share one file offset.
tell_at() { while read -r key value; do [ "$key" != pos: ] || at=$value; done </proc/self/fdinfo/3; }

# Sends $1 bytes as one frame; got. A file cut short while it is read gives fewer: the frame is filled up, and says so.
give() {
    say 'D %s %s %s\n' "$ino" "$pos" "$1"
    dd bs="$1" count=1 <&3 2>/dev/null || exit 9
    tell_at
    got=$((at - pos))
    [ "$got" -ge "$1" ] || dd if=/dev/zero bs=$(($1 - got)) count=1 2>/dev/null || exit 9
    say 'd %s\n' "$got"
    pos=$at quiet=0
}

# Sends all up to size. The mark is read before the bytes are sent: whoever has them may cut the file at once.
drain() {
    while [ "$pos" -lt "$size" ]; do
        n=$((size - pos)) seen=
        if [ "$n" -gt "$chunk" ]; then n=$chunk; else look_back "$size" 16; fi
        give "$n"
        [ "$got" -gt 0 ] || break
        [ "$pos" -eq "$size" ] || seen=
        mark=$seen
    done
}

# From the first byte of what descriptor 3 is now.
restart() {
    say 'R %s %s\n' "$1" "$2"
    pos=0 mark=
}

# found: the file of this folder with inode $1. One stat for all; its lines are counted, since names may hold anything.
find_inode() {
    found= sought=$1 nth=0
    set -- "$dir"*
    for i in $(stat -c %i "$@" 2>/dev/null); do
        nth=$((nth + 1))
        [ "$i" != "$sought" ] || { eval "found=\${$nth}"; return; }
    done
}

# found: the next of the rotated files after the one with inode ino, by time of the last write; the path itself when
# there is none between. Two rotations may have happened while nobody looked.
find_next() {
    find_inode "$ino"
    older=$found found=
    [ -n "$older" ] && [ "$older" != "$f" ] && for g in "$f".[0-9]* "$f"-[0-9]*; do
        packed "$g" || [ ! "$g" -nt "$older" ] || { [ -n "$found" ] && [ "$g" -nt "$found" ]; } || found=$g
    done
    [ -n "$found" ] || found=$f
}

# Whether a name is of a compressed file.
packed() { case $1 in *.gz | *.xz | *.bz2 | *.zst) return 0 ;; *) return 1 ;; esac; }

# Opens the copy that copy-and-truncate rotation made: the rotated file with the same past. Only a full mark is proof.
open_copy() {
    [ ${#mark} -eq 32 ] || return 1
    for g in "$f".[0-9]* "$f"-[0-9]*; do
        [ -f "$g" ] && ! packed "$g" && open "$g" && same_past && return
    done
    return 1
}

await_path() {
    while obstacle; [ -n "$why" ] || ! open "$f"; do
        tell_obstacle
        nap
    done
    told=
}

# Opens the file that holds the cursor's place: the path's, else a rotated sibling.
resume() {
    obstacle
    if [ -z "$why" ] && open "$f" && [ "$ino" = "$want" ]; then
        same_past || recover
        return
    fi
    find_inode "$want"
    if [ -n "$found" ] && [ -f "$found" ] && open "$found" && [ "$ino" = "$want" ] && same_past; then return; fi
    ino=
    await_path
    [ "$ino" = "$want" ] && same_past || restart replaced '?'
}

# The file was cut, or written anew. What was added before that may be in a copy; else it can't be known what is lost.
recover() {
    kind=truncated
    [ "$size" -lt "$pos" ] || kind=replaced
    open_copy && return
    ino=
    await_path
    restart "$kind" '?'
}

# Where to start in a file that is met for the first time: one byte earlier, which may be a line's end.
start() {
    await_path
    pos=0
    [ -z "$last" ] || [ "$size" -le "$last" ] || pos=$((size - last - 1))
}

# The path is another file than descriptor 3, or none. Wait for a look without news: who wrote to the renamed file
# may not have opened the new one yet. A writer that never does is left after 20 looks.
change() {
    moved=$((moved + 1))
    if [ "$fresh" = 1 ] && [ "$moved" -lt 20 ] || [ "$moved" -lt 2 ]; then return; fi
    kind=rotated
    [ "$links" != 0 ] || kind=replaced
    find_next
    open "$found" && restart "$kind" 0
}

# Looks at the path and at descriptor 3 in one step; fresh is 1 when there are bytes to send.
look() {
    fresh=0
    set -- $(stat -L -c '%i %s %h' "$f" $me 2>/dev/null)
    case $# in
    6) there=$1 now=$4 size=$5 links=$6 ;;
    3) there= now=$1 size=$2 links=$3 ;;
    *) exit 8 ;;
    esac
    # A network file system may forget an open file: then only the path is left to read.
    if [ "$now" != "$ino" ]; then
        ino=
        await_path
        restart replaced '?'
    elif [ "$size" -lt "$pos" ] || { [ "$size" -gt "$pos" ] && ! same_past; }; then
        recover
        seek "$pos"
    fi
    [ "$size" -le "$pos" ] || fresh=1
}

say 'longwait-follow 1\n'
if [ -n "$want" ]; then resume; else start; fi
say 'S %s %s\n' "$ino" "$pos"
seek "$pos"
beat
while :; do
    look
    drain
    [ "$fresh" = 1 ] && [ $((size - pos)) -ge "$chunk" ] && continue
    # Said as soon as it is so: a reader that waits for the present need not wait for the next beat.
    [ "$behind" = 0 ] || [ "$size" -gt "$pos" ] || beat
    obstacle
    tell_obstacle
    if [ -n "$there" ] && [ "$there" != "$ino" ] && [ -z "$why" ]; then change; else moved=0; fi
    nap
done
