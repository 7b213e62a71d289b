# Follows a file on the host; remote/frames.py says what it prints and remote/tail.py starts it:
#   sh -c PROGRAM longwait-follow PATH INODE OFFSET MARK LAST POLL BEATS CHUNK
# POSIX sh (dash, bash, busybox) on Linux, with stat, dd, od and sleep. Nothing is written on the host.
# The file stays open as descriptor 3: after a rename the old one is read to its end before the new one is opened.
export LC_ALL=C
f=$1 want=$2 pos=$3 mark=$4 last=$5 poll=$6 beats=$7 chunk=$8
at_mark=$pos
# The size of a frame. Each costs the start of a process, but none counts before it is whole: it grows while the link
# takes one in less than 0.2 s, and shrinks when that needs more than 1 s. It is a multiple of a block.
block=65536
step=$block most=$((chunk * 16))
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
# shell, which is what exec without command would make of it.
open() {
    { command exec 3<"$1"; } 2>/dev/null || return 1
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

# Whether descriptor 3 still holds what was read up to pos, by the bytes before at_mark. An empty mark is no evidence.
same_past() {
    [ "$size" -ge "$pos" ] || return 1
    [ -n "$mark" ] || return 0
    look_back "$at_mark" $((${#mark} / 2))
    [ -z "$seen" ] || [ "$seen" = "$mark" ]
}

# Where descriptor 3 is. The shell and dd share one file offset.
tell_at() { while read -r key value; do [ "$key" != pos: ] || at=$value; done </proc/self/fdinfo/3; }

# Copies $1 bytes from descriptor 3. In blocks: one read of megabytes costs dd that memory, cleared anew in each process.
copy() {
    [ "$1" -lt "$block" ] || dd bs="$block" count=$(($1 / block)) <&3 2>/dev/null || exit 9
    [ $(($1 % block)) -eq 0 ] || dd bs=$(($1 % block)) count=1 <&3 2>/dev/null || exit 9
}

# Sends $1 bytes as one frame; got. A file cut short while it is read gives fewer: the frame is filled up, and says so.
give() {
    say 'D %s %s %s\n' "$ino" "$pos" "$1"
    copy "$1"
    tell_at
    got=$((at - pos))
    [ "$got" -ge "$1" ] || dd if=/dev/zero bs=$(($1 - got)) count=1 2>/dev/null || exit 9
    say 'd %s\n' "$got"
    pos=$at quiet=0
}

# Sets $1 to hundredths of seconds that only grow. The 1 before them keeps "0.08" from being an octal number.
clock() {
    read -r up rest </proc/uptime || up=0.0
    eval "$1=1${up%.*}${up#*.}"
}

pace() {
    clock is
    if [ $((is - was)) -gt 100 ]; then
        [ "$step" -le "$block" ] || step=$((step / 2))
    elif [ $((is - was)) -lt 20 ] && [ "$step" -lt "$most" ]; then
        step=$((step * 2))
    fi
}

# Sends all up to size. The mark is read before the bytes are sent: whoever has them may cut the file at once. One at
# the beginning and one at the end are enough; a file that was cut while it was read keeps its former one.
drain() {
    while [ "$pos" -lt "$size" ]; do
        n=$((size - pos)) seen=
        [ "$n" -le "$step" ] || n=$step
        if [ -z "$mark" ] || [ $((pos + n)) -eq "$size" ]; then look_back $((pos + n)) 256; fi
        clock was
        give "$n"
        [ "$got" -gt 0 ] || break
        [ "$n" -ne "$step" ] || pace
        if [ -n "$seen" ] && [ "$got" -eq "$n" ]; then mark=$seen at_mark=$pos; fi
    done
}

# From the first byte of what descriptor 3 is now.
restart() {
    say 'R %s %s %s\n' "$1" "$2" "$ino"
    pos=0 mark= at_mark=0
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

# found: the rotated file that was written next after descriptor 3, by time of the last write; the path itself when there
# is none between. Two rotations may have happened while nobody looked.
find_next() {
    found=
    for g in "$f".[0-9]* "$f"-[0-9]*; do
        packed "$g" || [ ! -f "$g" ] || [ ! "$g" -nt $me ] || { [ -n "$found" ] && [ "$g" -nt "$found" ]; } || found=$g
    done
    [ -n "$found" ] || found=$f
}

# Opens what find_next finds. Names move while a rotation is under way, so it must be found again once it is held.
open_next() {
    find_next
    { command exec 4<"$found"; } 2>/dev/null || return 1
    next=$found
    find_next
    set -- "$next" $(stat -L -c %i "$found" /proc/self/fd/4 2>/dev/null)
    [ "$found" = "$1" ] && [ $# -eq 3 ] && [ "$2" = "$3" ] && open /proc/self/fd/4
}

# Whether a name is one that rotation gives.
rotated() { case $1 in "$f".[0-9]* | "$f"-[0-9]*) return 0 ;; *) return 1 ;; esac; }

# Whether a name is of a compressed file.
packed() { case $1 in *.gz | *.xz | *.bz2 | *.zst) return 0 ;; *) return 1 ;; esac; }

# Opens the copy that copy-and-truncate rotation made: the rotated file with the same past. Fewer than 16 bytes
# are no proof. Names may move meanwhile, hence two tries.
open_copy() { [ ${#mark} -ge 32 ] && { try_copies || try_copies; }; }
try_copies() {
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

# Opens the file that has the cursor's inode number: the path's, else one of its folder. Names move while a rotation is
# under way, hence three tries.
find_again() {
    for try in 1 2 3; do
        obstacle
        found=$f
        [ -z "$why" ] && open "$f" && [ "$ino" = "$want" ] && return
        find_inode "$want"
        [ -n "$found" ] && [ -f "$found" ] && open "$found" && [ "$ino" = "$want" ] && return
    done
    return 1
}

# Opens the file that holds the cursor's place, or what is the best start after it.
resume() {
    if find_again; then
        ! same_past || return
        # A file cut first and then renamed is read too: what it holds now is not lost.
        if [ "$found" = "$f" ] || rotated "$found"; then recover; return; fi
    fi
    ino=
    await_path
    [ "$ino" = "$want" ] && same_past || restart replaced '?'
}

# The file was cut, or written anew. What was added before that may be in a copy; else it can't be known what is lost.
# What it holds now is read from its beginning, wherever its name is by now.
recover() {
    kind=truncated
    [ "$size" -lt "$pos" ] || kind=replaced
    exec 4<&3
    if ! open_copy; then
        if ! open /proc/self/fd/4; then ino=; await_path; fi
        restart "$kind" '?'
    fi
    exec 4<&-
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
    open_next && restart "$kind" 0
    exec 4<&-
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
