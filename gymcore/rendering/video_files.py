"""Video files, MP4 or animated GIF: frames are passed to ffmpeg one by one.

Until a file is complete, it has a random name with the suffix `.part` in the same folder.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.base.new_file import NewFile
from gymcore.base.no_copies import NoCopies
from gymcore.base.optional_packages import pip_install

VIDEO_FORMATS = ("mp4", "gif")

#: Seconds to wait for ffmpeg to finish before it is interrupted, and again before it is killed.
_TIMEOUT = 60.0
#: Browsers show a GIF frame with a duration below 20 ms for 100 ms.
_MAX_GIF_FPS = 50

_OUTPUT = {
    "mp4": (
        *("-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-pix_fmt", "yuv420p"),
        # The index comes first, so that a browser can start to play while it loads the file.
        *("-movflags", "+faststart", "-f", "mp4"),
    ),
    # One palette per frame: a common one would need all frames at once.
    "gif": (
        "-filter_complex",
        "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1:dither=none",
        *("-loop", "0", "-f", "gif"),
    ),
}


class VideoEncodingFailed(error.Error, OSError):
    """Raised if ffmpeg could not write a video file; the message has the end of its output."""


def find_ffmpeg() -> str:
    """Return the path of imageio-ffmpeg's ffmpeg; raise DependencyNotInstalled if missing."""
    try:
        import imageio_ffmpeg

        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except (ImportError, RuntimeError) as exc:
        raise error.DependencyNotInstalled(
            f"videos are written by imageio-ffmpeg, run `{pip_install('imageio_ffmpeg')}`"
        ) from exc


def as_rgb(frame: object) -> npt.NDArray[np.uint8]:
    """Convert a frame to `[height, width, 3] uint8`; return it unchanged if it has this form.

    Args:
        frame: `[height, width, 3]`; `[height, width, 4]`, whose alpha is dropped; or
            `[height, width]` or `[height, width, 1]`, grayscale. Values are 0 to 255; grayscale
            floats, however, are a depth and are scaled from black (minimum) to white (maximum).

    Raises:
        ArgumentTypeError: If `frame` is not an array of numbers.
        InvalidArgument: If `frame` has another shape.

    Examples:
        >>> import numpy as np
        >>> as_rgb(np.array([[0.5, 1.5]], np.float32))[0].tolist()
        [[0, 0, 0], [255, 255, 255]]
    """
    if not isinstance(frame, np.ndarray) or frame.dtype.kind not in "buif":
        kind = frame.dtype if isinstance(frame, np.ndarray) else type(frame)
        raise error.ArgumentTypeError(f"frame: expected an array of numbers, got {kind}")
    if frame.ndim == 3 and frame.shape[2] == 1:
        frame = frame[:, :, 0]
    if not (frame.ndim == 2 or (frame.ndim == 3 and frame.shape[2] in (3, 4))) or not frame.size:
        raise error.InvalidArgument(
            f"frame: expected shape [height, width, 3] or [height, width], got {frame.shape}"
        )
    if frame.ndim == 2:
        if frame.dtype.kind == "f":
            finite = frame[np.isfinite(frame)]
            low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
            frame = (np.nan_to_num(frame, nan=low, posinf=high, neginf=low) - low) * (
                255.0 / (high - low) if high > low else 0.0
            )
        frame = np.repeat(frame[:, :, None], 3, axis=2)
    elif frame.shape[2] == 4:
        frame = frame[:, :, :3]
    if frame.dtype.kind == "f":
        frame = np.nan_to_num(frame)
    if frame.dtype not in (np.uint8, np.bool_):
        frame = np.minimum(np.maximum(frame, 0), 255)
    return frame.astype(np.uint8, copy=False)


class VideoWriter(NoCopies):
    """Writes frames to a video file as they arrive, with only one frame in memory.

    The file is also finished when the writer is garbage-collected or the program exits.

    Attributes:
        path: Path of the file, which exists after `close`.
        fps: Frames per second.
        frames: Number of frames written.
        size: Height and width of the frames; None before the first.
        closed: Whether the file is finished.

    Examples:
        >>> import numpy as np
        >>> with VideoWriter("black.mp4", fps=30) as video:
        ...     for _ in range(3):
        ...         video.write(np.zeros((40, 60, 3), np.uint8))
        >>> video.frames, video.path.exists()
        (3, True)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        fps: float,
        *,
        format: str | None = None,
        overwrite: bool = True,
    ) -> None:
        """Prepare to write; the first frame starts the file.

        Args:
            path: Path of the file. Its folder must exist. An existing regular file is replaced, but
                nothing else, and no symbolic link.
            fps: Frames per second. A GIF shows at most 50, and skips frames above that.
            format: "mp4" or "gif"; None takes it from the path's suffix.
            overwrite: Whether to replace an existing file; otherwise `write` or `close` fails.

        Raises:
            InvalidArgument: If the suffix or format is another one, or `fps` is not positive.
            DependencyNotInstalled: If ffmpeg is missing.
        """
        self.path = Path(path)
        self.format = self.path.suffix[1:].lower() if format is None else format
        if self.format not in VIDEO_FORMATS:
            where = f"path: expected a name that ends in .mp4 or .gif, got {str(path)!r}"
            raise error.InvalidArgument(
                where if format is None else f"format: expected 'mp4' or 'gif', got {format!r}"
            )
        if isinstance(fps, bool) or not isinstance(fps, (int, float, np.number)):
            raise error.ArgumentTypeError(f"fps: expected a number, got {type(fps)}")
        if not 0 < fps < float("inf"):
            raise error.InvalidArgument(f"fps: expected a positive number, got {fps}")
        self.fps = float(fps)
        self._overwrite = overwrite
        self.frames = 0
        self.size: tuple[int, int] | None = None
        self.closed = False
        self._ffmpeg = find_ffmpeg()
        self._encoder: _Encoder | None = None
        self._padded: npt.NDArray[np.uint8] | None = None

    def write(self, frame: npt.NDArray[np.generic]) -> None:
        """Add a frame for `as_rgb`; it must have the size of the first one (`InvalidArgument`).

        If ffmpeg fails, the file is removed and `VideoEncodingFailed` is raised; after `close`,
        `ClosedEnvironmentError` is raised.
        """
        if self.closed:
            raise error.ClosedEnvironmentError(f"the video {self.path} is finished")
        pixels = as_rgb(frame)
        height, width = pixels.shape[:2]
        if self.size is not None and self.size != (height, width):
            raise error.InvalidArgument(
                f"frame: expected {self.size[1]} x {self.size[0]} pixels as in previous frames, "
                f"got {width} x {height}"
            )
        if self._encoder is None:
            try:
                self._begin(height, width)
            except VideoEncodingFailed:
                self.closed = True
                raise
        if self._padded is not None:
            # Repeat the last row and column.
            self._padded[:height, :width] = pixels
            self._padded[height:, :width] = pixels[-1:]
            self._padded[:, width:] = self._padded[:, width - 1 : width]
            pixels = self._padded
        assert self._encoder is not None
        try:
            self._encoder.send(np.ascontiguousarray(pixels))
        except BaseException:
            self.closed = True
            self._finalizer.detach()
            raise
        self.frames += 1

    def _begin(self, height: int, width: int) -> None:
        """Start ffmpeg for frames of this size."""
        self.size = (height, width)
        # H.264 stores one color for each square of four pixels.
        even = (height + height % 2, width + width % 2) if self.format == "mp4" else self.size
        if even != self.size:
            self._padded = np.empty((*even, 3), np.uint8)
        output = list(_OUTPUT[self.format])
        if self.format == "gif" and self.fps > _MAX_GIF_FPS:
            output[1] = f"fps={_MAX_GIF_FPS}," + output[1]
        self._encoder = _Encoder(
            [
                *(self._ffmpeg, "-y", "-nostdin", "-hide_banner", "-loglevel", "error"),
                *("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{even[1]}x{even[0]}"),
                *("-r", f"{self.fps:g}", "-i", "pipe:0", "-an", *output),
            ],
            self.path,
            self._overwrite,
        )
        self._finalizer = weakref.finalize(self, self._encoder.finish, quiet=True)

    def close(self) -> None:
        """Finish the file; further calls do nothing. Without frames, there is no file.

        Raises:
            VideoEncodingFailed: If ffmpeg failed; the file is removed.
        """
        if self.closed:
            return
        self.closed = True
        self._padded = None
        if self._encoder is not None:
            self._finalizer.detach()
            self._encoder.finish()

    def discard(self) -> None:
        """Stop without a file; an existing file of that name is kept. Must not follow `close`."""
        if self.closed:
            return
        self.closed = True
        if self._encoder is not None:
            self._finalizer.detach()
            self._encoder.abandon()

    def __enter__(self) -> VideoWriter:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()


class _Encoder:
    """A running ffmpeg that reads a pipe and writes a file."""

    def __init__(self, command: list[str], path: Path, overwrite: bool) -> None:
        """Start ffmpeg with `command` plus the path of the output file."""
        self._owner = os.getpid()
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed with ffmpeg)
        try:
            self._file = NewFile(path, overwrite=overwrite)
        except OSError as exc:
            self._log.close()
            raise VideoEncodingFailed(f"cannot write {path}: {exc.strerror or exc}") from None
        # In a new session, ffmpeg does not receive Ctrl-C: the program exits and finishes the file.
        options: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            options = {"creationflags": subprocess.CREATE_NO_WINDOW}
        try:
            with self._file.part.open("r+b") as part:
                output = str(self._file.part)
                if sys.platform == "linux":
                    # An interrupt here leaves ffmpeg running; it must not create the file again.
                    output = f"/proc/self/fd/{part.fileno()}"
                    options["pass_fds"] = (part.fileno(),)
                self._process = subprocess.Popen(
                    [*command, output],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=self._log,
                    bufsize=0,
                    **options,
                )
        except BaseException as exc:
            self._log.close()
            self._file.discard()
            if not isinstance(exc, OSError):
                raise
            raise VideoEncodingFailed(f"cannot start {command[0]}: {exc}") from exc

    def send(self, pixels: npt.NDArray[np.uint8]) -> None:
        """Write one frame, C-contiguous, to the pipe."""
        assert self._process.stdin is not None
        data = pixels.data.cast("B")
        try:
            while data:
                data = data[self._process.stdin.write(data) :]
        except (OSError, ValueError) as exc:
            self._fail(exc)
        except BaseException:
            # The frame was interrupted, so all further frames would be shifted.
            self.abandon()
            raise

    def finish(self, quiet: bool = False) -> None:
        """Close the pipe, wait for ffmpeg and rename the file."""
        assert self._process.stdin is not None
        if os.getpid() != self._owner:  # a forked copy: ffmpeg belongs to the parent
            self._process.returncode = 0
            self._process.stdin.close()
            return
        try:
            self._process.stdin.close()
            self._wait()
            if self._process.returncode not in (0, 255) or not self._file.part.stat().st_size:
                raise OSError(f"exit code {self._process.returncode}")
            self._file.finish()
        except OSError as exc:
            if not quiet:
                self._fail(exc)
            self.abandon()
        except BaseException:
            self.abandon()
            raise
        self._log.close()

    def _wait(self) -> None:
        """Wait for ffmpeg; interrupt it if a forked child keeps the pipe open."""
        for timeout in (5.0, _TIMEOUT):
            try:
                self._process.wait(timeout)
                return
            except subprocess.TimeoutExpired:
                if sys.platform != "win32":
                    # ffmpeg treats this signal as the end of its input.
                    self._process.send_signal(signal.SIGINT)
        self._process.kill()
        self._process.wait()

    def _fail(self, cause: BaseException) -> None:
        """Stop ffmpeg, remove the file and raise ffmpeg's error."""
        self._stop()
        self._log.seek(0)
        output = self._log.read().decode(errors="replace").strip()
        self._log.close()
        self._file.discard()
        message = "; ".join(line.strip() for line in output.splitlines()[-5:]) or str(cause)
        raise VideoEncodingFailed(f"ffmpeg could not write {self._file.path}: {message}") from cause

    def abandon(self) -> None:
        """Stop ffmpeg and remove the file."""
        self._stop()
        self._log.close()
        self._file.discard()

    def _stop(self) -> None:
        """Stop ffmpeg; it has one second to report an error."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
