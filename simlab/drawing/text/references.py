"""Describe the methods of an analysis as a paper does, with their references.

`METHODS` has a clause for each method; `clauses` and `sentences` return them as text, `list_of` their references.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

REFERENCES = {
    "Angelopoulos et al. 2023": "Angelopoulos, A. N., Duchi, J. C. and Zrnic, T. (2023). PPI++: Efficient "
    "prediction-powered inference. arXiv:2311.01453.",
    "Benjamini and Hochberg 1995": "Benjamini, Y. and Hochberg, Y. (1995). Controlling the false discovery rate: a "
    "practical and powerful approach to multiple testing. Journal of the Royal Statistical Society B 57, 289-300.",
    "Bradley and Terry 1952": "Bradley, R. A. and Terry, M. E. (1952). Rank analysis of incomplete block designs: I. "
    "The method of paired comparisons. Biometrika 39, 324-345.",
    "Cameron et al. 2011": "Cameron, A. C., Gelbach, J. B. and Miller, D. L. (2011). Robust inference with multiway "
    "clustering. Journal of Business & Economic Statistics 29, 238-249.",
    "Canay et al. 2017": "Canay, I. A., Romano, J. P. and Shaikh, A. M. (2017). Randomization tests under an "
    "approximate symmetry assumption. Econometrica 85, 1013-1030.",
    "Card et al. 2020": "Card, D., Henderson, P., Khandelwal, U., Jia, R., Mahowald, K. and Jurafsky, D. (2020). With "
    "little power comes great responsibility. EMNLP 2020, 9263-9274.",
    "Coakley and Heise 1996": "Coakley, C. W. and Heise, M. A. (1996). Versions of the sign test in the presence of "
    "ties. Biometrics 52, 1242-1251.",
    "Davidson 1970": "Davidson, R. R. (1970). On extending the Bradley-Terry model to accommodate ties in paired "
    "comparison experiments. Journal of the American Statistical Association 65, 317-328.",
    "Deriu et al. 2023": "Deriu, J., von Däniken, P., Tuggener, D. and Cieliebak, M. (2023). Correction of errors in "
    "preference ratings from automated metrics for text generation. Findings of ACL 2023.",
    "Edwards and Hsu 1983": "Edwards, D. G. and Hsu, J. C. (1983). Multiple comparisons with the best treatment. "
    "Journal of the American Statistical Association 78, 965-971.",
    "Giesbrecht and Burns 1985": "Giesbrecht, F. G. and Burns, J. C. (1985). Two-stage analysis based on a mixed "
    "model: large-sample asymptotic theory and small-sample simulation results. Biometrics 41, 477-486.",
    "Hall 1992": "Hall, P. (1992). On the removal of skewness by transformation. Journal of the Royal Statistical "
    "Society B 54, 221-228.",
    "Holm 1979": "Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of "
    "Statistics 6, 65-70.",
    "Hsu 1984": "Hsu, J. C. (1984). Constrained simultaneous confidence intervals for multiple comparisons with the "
    "best. Annals of Statistics 12, 1136-1144.",
    "Lan and DeMets 1983": "Lan, K. K. G. and DeMets, D. L. (1983). Discrete sequential boundaries for clinical "
    "trials. Biometrika 70, 659-663.",
    "Morris et al. 2019": "Morris, T. P., White, I. R. and Crowther, M. J. (2019). Using simulation studies to "
    "evaluate statistical methods. Statistics in Medicine 38, 2074-2102.",
    "O'Hagan et al. 2005": "O'Hagan, A., Stevens, J. W. and Campbell, M. J. (2005). Assurance in clinical trial "
    "design. Pharmaceutical Statistics 4, 187-201.",
    "Patterson and Thompson 1971": "Patterson, H. D. and Thompson, R. (1971). Recovery of inter-block information when "
    "block sizes are unequal. Biometrika 58, 545-554.",
    "Ramdas et al. 2023": "Ramdas, A., Grünwald, P., Vovk, V. and Shafer, G. (2023). Game-theoretic statistics and "
    "safe anytime-valid inference. Statistical Science 38, 576-601.",
    "Riley et al. 2024": "Riley, P., Deutsch, D., Foster, G., Ratnakar, V., Dabirmoghaddam, A. and Freitag, M. (2024). "
    "Finding replicable human evaluations via stable ranking probability. NAACL 2024.",
    "Romano and Wolf 2005": "Romano, J. P. and Wolf, M. (2005). Exact and approximate stepdown methods for multiple "
    "hypothesis testing. Journal of the American Statistical Association 100, 94-108.",
    "Smyth 2004": "Smyth, G. K. (2004). Linear models and empirical Bayes methods for assessing differential "
    "expression in microarray experiments. Statistical Applications in Genetics and Molecular Biology 3, 1-25.",
    "Ville 1939": "Ville, J. (1939). Étude critique de la notion de collectif. Gauthier-Villars, Paris.",
    "von Däniken et al. 2022": "von Däniken, P., Deriu, J., Tuggener, D. and Cieliebak, M. (2022). On the "
    "effectiveness of automated metrics for text generation systems. Findings of EMNLP 2022.",
    "Vovk and Wang 2021": "Vovk, V. and Wang, R. (2021). E-values: calibration, combination and applications. Annals "
    "of Statistics 49, 1736-1754.",
    "Westfall and Young 1993": "Westfall, P. H. and Young, S. S. (1993). Resampling-based multiple testing: examples "
    "and methods for p-value adjustment. Wiley, New York.",
    "Wang and Ramdas 2022": "Wang, R. and Ramdas, A. (2022). False discovery rate control with e-values. Journal of "
    "the Royal Statistical Society B 84, 822-852.",
    "Waudby-Smith and Ramdas 2024": "Waudby-Smith, I. and Ramdas, A. (2024). Estimating means of bounded random "
    "variables by betting. Journal of the Royal Statistical Society B 86, 1-27.",
    "Wilson 1927": "Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. "
    "Journal of the American Statistical Association 22, 209-212.",
    "Youden 1950": "Youden, W. J. (1950). Index for rating diagnostic tests. Cancer 3, 32-35.",
}
"""Sentences of works that are cited, by the words that cite them."""
SOURCES = {
    "Boag et al. 2016": "Boag, W., Campos, R., Saenko, K. and Rumshisky, A. (2016). MUTT: Metric unit testing for "
    "language generation tasks. ACL 2016, 1935-1943.",
    "Brennan 2001": "Brennan, R. L. (2001). Generalizability theory. Springer, New York.",
    "Chaganty et al. 2018": "Chaganty, A. T., Mussmann, S. and Liang, P. (2018). The price of debiasing automatic "
    "metrics in natural language evaluation. ACL 2018, 643-653.",
    "Clopper and Pearson 1934": "Clopper, C. J. and Pearson, E. S. (1934). The use of confidence or fiducial limits "
    "illustrated in the case of the binomial. Biometrika 26, 404-413.",
    "Gelman and Carlin 2014": "Gelman, A. and Carlin, J. (2014). Beyond power calculations: assessing type S (sign) "
    "and type M (magnitude) errors. Perspectives on Psychological Science 9, 641-651.",
    "Krippendorff 2004": "Krippendorff, K. (2004). Content analysis: an introduction to its methodology. Sage, "
    "Thousand Oaks.",
    "Kruschke 2018": "Kruschke, J. K. (2018). Rejecting or accepting parameter values in Bayesian estimation. "
    "Advances in Methods and Practices in Psychological Science 1, 270-280.",
    "McGraw and Wong 1996": "McGraw, K. O. and Wong, S. P. (1996). Forming inferences about some intraclass "
    "correlation coefficients. Psychological Methods 1, 30-46.",
    "Phipson and Smyth 2010": "Phipson, B. and Smyth, G. K. (2010). Permutation p-values should never be zero: "
    "calculating exact p-values when permutations are randomly drawn. Statistical Applications in Genetics and "
    "Molecular Biology 9, 39.",
    "Robbins 1970": "Robbins, H. (1970). Statistical methods related to the law of the iterated logarithm. Annals of "
    "Mathematical Statistics 41, 1397-1409.",
}
"""Sentences of further works, which docstrings name as their sources."""


class Method(NamedTuple):
    """A clause on a method, and the keys of its references."""

    says: str
    cites: tuple[str, ...] = ()


METHODS = {
    "permutation": Method(
        "each pair was compared by a permutation test that swaps them document by document and takes these raters "
        "as given",
        ("Riley et al. 2024",),
    ),
    "by_rater": Method(
        "each pair was compared by a t test over what each rater contributes to their difference, so that it speaks "
        "of raters like these"
    ),
    "two_way": Method(
        "each pair was compared by a t test with errors clustered by rater and by document",
        ("Cameron et al. 2011",),
    ),
    "rater_flips": Method(
        "each pair was compared by flipping the signs of whole raters, so that the test speaks of raters like these",
        ("Canay et al. 2017",),
    ),
    "crossed_flips": Method(
        "each pair was compared by flipping the signs of whole raters and of whole documents, so that the test speaks "
        "of raters and documents like these",
        ("Canay et al. 2017", "Cameron et al. 2011"),
    ),
    "mixed_model": Method(
        "systems were compared by a linear mixed model of the ratings with raters, raters by systems, documents and "
        "outputs as random effects (REML, generalised least squares, degrees of freedom after Satterthwaite)",
        ("Patterson and Thompson 1971", "Giesbrecht and Burns 1985"),
    ),
    "moderated": Method(
        "systems were compared by a linear mixed model of the ratings, the variances of their differences shrunk "
        "towards the median of all pairs, and the largest statistic held against simulated studies of equal systems",
        ("Patterson and Thompson 1971", "Smyth 2004", "Westfall and Young 1993"),
    ),
    "flips": Method(
        "signs of whole clusters of answers were flipped at random, with errors shrunk towards that of the typical "
        "pair and half of the skewness taken off",
        ("Canay et al. 2017", "Smyth 2004", "Hall 1992"),
    ),
    "document_flips": Method(
        "each pair was compared by flipping the signs of whole documents, which takes these raters as given",
        ("Canay et al. 2017",),
    ),
    "normal": Method("each pair was compared by a z test over their differences by document"),
    "zscore": Method("scores were standardised rater by rater", ("Riley et al. 2024",)),
    "mean": Method("each rater's scores were multiplied so that all raters have one mean", ("Riley et al. 2024",)),
    "error": Method("raters who mark many errors were given more weight", ("Riley et al. 2024",)),
    "max_t": Method("pairs were corrected for one another by max-T", ("Romano and Wolf 2005",)),
    "best": Method(
        "systems that may be the best were told by comparisons of each with all others",
        ("Hsu 1984", "Edwards and Hsu 1983"),
    ),
    "holm": Method("pairs were corrected for one another by Holm's step-down", ("Holm 1979",)),
    "bh": Method("the expected share of false claims was bounded", ("Benjamini and Hochberg 1995",)),
    "closed": Method("pairs were corrected for one another by closed testing of e-values", ("Vovk and Wang 2021",)),
    "e_bh": Method("the expected share of false claims was bounded by e-values", ("Wang and Ramdas 2022",)),
    "anytime": Method(
        "each pair was compared by an e-process, which may be looked at after every batch",
        ("Ville 1939", "Ramdas et al. 2023"),
    ),
    "betting": Method(
        "each pair was compared by an e-process of bets, which may be looked at after every batch",
        ("Waudby-Smith and Ramdas 2024",),
    ),
    "fixed": Method("each pair was compared by one sign test at the end", ("Coakley and Heise 1996",)),
    "group_sequential": Method(
        "each pair was compared by tests at planned looks that spend the level", ("Lan and DeMets 1983",)
    ),
    "bayes": Method(
        "each pair was compared by a posterior that learns a metric's errors; nothing corrects for looking often",
        ("Deriu et al. 2023",),
    ),
    "human_only": Method(
        "each pair was compared by a posterior of human preferences; nothing corrects for looking often",
        ("Deriu et al. 2023",),
    ),
    "dashboard": Method(
        "neighbours of the ranking were compared by t tests over segments as ratings came, which promises nothing"
    ),
    "naive": Method("a metric's preferences were taken at their word", ("Deriu et al. 2023",)),
    "equivalence": Method("each pair was called better, worse or equivalent by a stated margin"),
    "davidson": Method(
        "scores of systems are those of a Bradley-Terry model with ties", ("Bradley and Terry 1952", "Davidson 1970")
    ),
    "bradley_terry": Method("scores of systems are those of a Bradley-Terry model", ("Bradley and Terry 1952",)),
    "sample_mean": Method("a system's mean is that of the human judgements"),
    "fixed_width": Method(
        "judging of a system ended once its interval was narrow enough, the level shared among looks"
    ),
    "betting_width": Method(
        "judging of a system ended once its betting confidence sequence was narrow enough",
        ("Waudby-Smith and Ramdas 2024",),
    ),
    "ppi_width": Method(
        "judging of a system ended once a betting confidence sequence of what a metric leaves open was narrow enough",
        ("Waudby-Smith and Ramdas 2024",),
    ),
    "wilson": Method("intervals of shares are Wilson's", ("Wilson 1927",)),
    "ppi": Method("human means were corrected by a metric (PPI++)", ("Angelopoulos et al. 2023",)),
    "control_variates": Method("human means were corrected by a metric as a control variate"),
    "binary": Method(
        "shares of adequate outputs are posteriors that learn how often a metric errs", ("von Däniken et al. 2022",)
    ),
    "youden": Method("a metric's quality is rho + eta - 1, Youden's J", ("Youden 1950",)),
    "assurance": Method(
        "how many more would settle a pair is averaged over what its effect may be", ("O'Hagan et al. 2005",)
    ),
    "srp": Method(
        "the stable ranking probability is the chance that a repetition confirms the direction of every claim",
        ("Riley et al. 2024",),
    ),
    "simulated": Method(
        "the design was chosen by simulating whole studies",
        ("Card et al. 2020", "Morris et al. 2019", "Riley et al. 2024"),
    ),
    "pseudo_side_by_side": Method(
        "one rater sees the outputs of all systems for a document", ("Riley et al. 2024",)
    ),
    "system_balanced": Method(
        "each rater sees as many outputs of one system as of another", ("Riley et al. 2024",)
    ),
    "ungrouped": Method("outputs are dealt to raters one by one", ("Riley et al. 2024",)),
}  # fmt: skip
"""Methods by the names that configs and conclusions give them."""


def clauses(names: Iterable[str]) -> list[str]:
    """Write a clause on each of these methods that is known, each once, with its references in parentheses."""
    known = [METHODS[name] for name in dict.fromkeys(names) if name in METHODS]
    return [f"{method.says} ({'; '.join(method.cites)})" if method.cites else method.says for method in known]


def sentences(names: Iterable[str]) -> str:
    """Write these methods as sentences."""
    return " ".join(f"{clause[0].upper()}{clause[1:]}." for clause in clauses(names))


def list_of(names: Iterable[str]) -> list[str]:
    """Return the references that these methods cite, in alphabetical order."""
    cited = {key for name in names if name in METHODS for key in METHODS[name].cites}
    return [REFERENCES[key] for key in sorted(cited, key=str.casefold)]
